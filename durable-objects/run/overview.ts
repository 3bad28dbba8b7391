import type { RunOverview } from "./answers.ts";
import { isAlive } from "./environments.ts";
import { type Explanation, explanation } from "./explain.ts";
import type { HandOut } from "./hand-out.ts";
import type { Losses } from "./losses.ts";
import type { RunParts } from "./parts.ts";
import type { Rollouts } from "./rollouts/rollouts.ts";

export interface Overviewed extends Pick<RunOverview, "waitingTrainers" | "disk"> {
  readonly parts: RunParts;
  readonly handOut: HandOut;
  readonly rollouts: Rollouts;
  readonly losses: Losses;
}

/** How a run stands, and why no batch is ready. */
export function overview(run: Overviewed): Omit<RunOverview, "watchdog"> {
  const { parts, handOut, rollouts, losses, waitingTrainers, disk } = run;
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
    forkedFrom: parts.fork.pending?.source ?? null,
  });
  return {
    step: state.step,
    queueSize: queue.index.groups,
    explain: withCauses(withoutStale(explain, parts), admission.blocked, losses.inWords(now)),
    queuedBytes: queue.bytes,
    disk,
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

/** Groups that are too stale are queued until the next batch is about to be formed, and are in none. */
function withoutStale(explain: Explanation, { state, queue }: RunParts): Explanation {
  const { registration, step } = state;
  if (explain.reason !== "ready" || registration === null || registration.max_staleness === null) return explain;
  const stale = queue.sequencesOlderThan(step - registration.max_staleness);
  if (stale === 0) return explain;
  const missing_sequences = registration.batch_size - (explain.queued_sequences - stale);
  const message = `${stale} of the ${explain.queued_sequences} queued sequences are staler than max_staleness allows (${registration.max_staleness}), and are dropped by the next GET /batch`;
  if (missing_sequences <= 0) return { ...explain, message };
  return { ...explain, reason: "too_few_sequences", missing_sequences, message };
}

/**
 * Something is missing, and those who would make it are not let, or what they made was not kept: then that is the reason a
 * person looks for.
 */
function withCauses(
  explain: Explanation,
  blocked: { readonly message: string } | null,
  lost: string | null,
): Explanation {
  const isMissing = explain.reason === "too_few_sequences" || explain.reason === "floor_unmet";
  if (!isMissing && explain.reason !== "sizes_do_not_add_up") return explain;
  const causes = [
    explain.message,
    ...(blocked === null || !isMissing ? [] : [`environments wait for rollout leases: ${blocked.message}`]),
    ...(lost === null ? [] : [lost]),
  ];
  return { ...explain, message: causes.join("; ") };
}
