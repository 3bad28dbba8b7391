import type { Environment } from "../environments.ts";
import type { RolloutParts } from "./parts.ts";

export type EvaluationState = "due" | "under_way" | null;

/**
 * Whether an environment evaluates, or has to: a multiple of `steps_per_eval` was crossed and nobody has evaluated since, or
 * the lease to do so was lost. Null if neither.
 */
export function evaluationState(
  { state, leases }: Pick<RolloutParts, "state" | "leases">,
  environment: Environment,
): EvaluationState {
  const { stepsPerEval } = environment.leasing;
  if (leases.isEvaluating(environment.id)) return "under_way";
  if (stepsPerEval === 0) return null;
  if (environment.lostEvaluations > 0) return "due";
  const isCrossed = Math.floor(state.step / stepsPerEval) > Math.floor(environment.evaluatedThrough / stepsPerEval);
  return isCrossed ? "due" : null;
}
