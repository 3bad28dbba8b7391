import type { Environment } from "../environments.ts";
import { admissionLimit } from "../registration.ts";
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
      return `the run has reached step ${step} of its num_steps ${registration?.num_steps}`;
    case "disconnected":
      return `environment ${environment.wandbName} is disconnected: register it again`;
    case "evaluating":
      return `environment ${environment.wandbName} evaluates, and its training waits meanwhile`;
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
