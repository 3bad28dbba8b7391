export { advantages, groupRelative } from "./advantages.ts";
export { type Batch, type BatchInput, batch, type Group, group } from "./batch.ts";
export { type LossMetrics, type LossOptions, loss, lossOptions } from "./loss.ts";
export { type StepMetrics, trainStep } from "./step.ts";
