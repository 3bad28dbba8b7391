import type { Adam, Policy } from "../policy/index.ts";
import { type BatchInput, batch } from "./batch.ts";
import { type LossMetrics, type LossOptions, loss } from "./loss.ts";

export interface StepMetrics extends LossMetrics {
  /** 2-norm of the gradient, before clipping. */
  readonly gradientNorm: number;
  /** The policy's version after the step. */
  readonly policyVersion: number;
}

/**
 * Trains a policy on one batch, in place, and raises its version by one.
 * @param groups the batch, as the wire has it
 * @throws ZodError when the batch isn't one, RangeError when it can't be trained on; the policy stays as it was
 */
export function trainStep(policy: Policy, optimizer: Adam, groups: BatchInput, options: LossOptions = {}): StepMetrics {
  const { gradient, metrics } = loss(policy.model, policy.weights, batch.parse(groups), options);
  const gradientNorm = optimizer.step(policy.weights, gradient);
  policy.advance();
  return { ...metrics, gradientNorm, policyVersion: policy.version };
}
