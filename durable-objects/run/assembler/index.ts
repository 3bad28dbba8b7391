export { type AssembledBatch, type AssembleOptions, assemble, type Order } from "./assemble.ts";
export type { Probe } from "./candidates.ts";
export { explain, type FloorStatus, type Readiness } from "./explain.ts";
export { type EnvironmentFloor, floorsInSequences } from "./floors.ts";
export type { MixingState, Weights } from "./mixing.ts";
export {
  type EnvironmentCounts,
  type EnvironmentId,
  type GroupClass,
  type QueuedGroup,
  QueueIndex,
} from "./queue-index.ts";
