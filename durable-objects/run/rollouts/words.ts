import type { Environment } from "../environments.ts";
import { admissionLimit, hasAllSteps } from "../registration.ts";
import { evaluationState } from "./due-evaluations.ts";
import type { Refusal } from "./grants.ts";
import { type RolloutParts, totalSequences } from "./parts.ts";

/** Why an environment gets no rollout lease, for a person. */
export function refusalInWords(refusal: Refusal, parts: RolloutParts, environment: Environment): string {
  const { registration, step } = parts.state;
  const batches = registration?.max_batches_offpolicy ?? 0;
  const limit = registration === null ? 0 : admissionLimit(registration);
  const { leaseSequences } = environment.leasing;
  switch (refusal) {
    case "no_trainer":
      return "no trainer has registered: call POST /register with a batch_size";
    case "num_steps":
      return `the run has reached step ${step} of its num_steps ${registration?.num_steps}${unmade(parts, environment)}`;
    case "disconnected":
      return `environment ${environment.wandbName} is disconnected: register it again`;
    case "evaluating":
      return hasAllSteps(registration, step)
        ? `environment ${environment.wandbName} evaluates after step ${step}, the last one`
        : `environment ${environment.wandbName} evaluates, and its training waits meanwhile`;
    case "last_batch":
      return (
        "batches of the run's last steps are yet to be acknowledged: the last evaluation waits for the policy that they make, " +
        "until no trainer has held one for 90 s"
      );
    case "admission":
      return (
        `${totalSequences(parts)} sequences are queued and leased, of at most ${limit} ` +
        `(max_batches_offpolicy ${batches} times batch_size); what is free may be kept for other environments' floors or weights`
      );
    case "lease_larger_than_admission":
      return (
        `a lease of ${environment.wandbName} may bring ${leaseSequences} sequences, more than the ${limit} the run admits: ` +
        "make its groups smaller, or register the trainer with a larger batch_size or max_batches_offpolicy"
      );
    case "no_endpoint":
      return "no inference endpoint is known: the trainer names them with POST /policy";
    case "endpoints_unhealthy":
      return "all inference endpoints have failed several times in a row and rest: see GET /policy";
    case "endpoints_busy":
      return "all inference endpoints have as many completions in flight as they take: see GET /policy";
  }
}

/** What has become of an evaluation that is due when the run has all its steps. */
function unmade(parts: RolloutParts, environment: Environment): string {
  if (evaluationState(parts, environment) !== "due") return "";
  const evaluation = `; the last evaluation of ${environment.wandbName} is due, but`;
  return parts.endpoints.count === 0
    ? `${evaluation} no inference endpoint is known: the trainer names them with POST /policy`
    : `${evaluation} batches of the last steps are yet to be acknowledged, and no trainer holds them`;
}
