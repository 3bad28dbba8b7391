import type { RunOverview } from "./answers.ts";
import { isAlive } from "./environments.ts";
import { type Explanation, explanation } from "./explain.ts";
import type { HandOut } from "./hand-out.ts";
import type { RunParts } from "./parts.ts";
import type { Rollouts } from "./rollouts/rollouts.ts";

/** How a run stands, and why no batch is ready. */
export function overview(
  parts: RunParts,
  handOut: HandOut,
  rollouts: Rollouts,
  waitingTrainers: number,
): Omit<RunOverview, "watchdog"> {
  const { state, queue, environments, batches, shards } = parts;
  const now = Date.now();
  const batchSize = state.registration?.batch_size ?? null;
  const connected = environments.connected();
  const admission = rollouts.admission();
  const explain = explanation({
    batchSize,
    floors: environments.floors(batchSize ?? 0, now),
    interruptedBatches: handOut.interrupted(batches, now).length,
    environments,
    index: queue.index,
    buffered: queue.buffered(),
    now,
  });
  return {
    step: state.step,
    queueSize: queue.index.groups,
    explain: withBlocked(explain, admission.blocked),
    queuedBytes: queue.bytes,
    receivedGroups: shards.nextAge - 1,
    environments: {
      registered: environments.count,
      connected: connected.length,
      alive: connected.filter((environment) => isAlive(environment, now)).length,
    },
    openBatches: batches.open.size,
    leasedBatches: handOut.leased(batches, now),
    trainer: state.trainer,
    policyVersion: state.policyVersion ?? state.step,
    admission,
    waitingTrainers,
  };
}

/** Sequences are missing, and those who would make them are not let: then that is the reason a person looks for. */
function withBlocked(explain: Explanation, blocked: { readonly message: string } | null): Explanation {
  if (explain.reason !== "too_few_sequences" || blocked === null) return explain;
  return { ...explain, message: `${explain.message}; environments wait for rollout leases: ${blocked.message}` };
}
