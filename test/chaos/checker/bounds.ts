import { type Evidence, type Finding, sequencesIn } from "./evidence.ts";

export function admission({ history }: Evidence): Finding {
  const { leases, admissionBound } = history;
  const faults = leases.flatMap(({ lease, admitted }) =>
    admitted <= admissionBound
      ? []
      : [`with rollout lease ${lease} ${admitted} sequences were queued or leased; ${admissionBound} may be`],
  );
  return { check: "queued and leased sequences stay within the bound", checked: leases.length, faults };
}

/** Staleness at hand-out: the step before the batch's own, less the group's policy version. */
export function staleness({ history, sent, batches }: Evidence): Finding {
  let checked = 0;
  const faults: string[] = [];
  for (const { batch, step, groups } of batches.values()) {
    for (const id of groups) {
      const version = sent.get(id)?.group.policyVersion ?? null;
      if (version === null) continue;
      checked += 1;
      const stale = step - 1 - version;
      if (stale > history.maxStaleness) faults.push(`group ${id} in batch ${batch} is ${stale} steps stale`);
    }
  }
  return { check: `no group is staler than ${history.maxStaleness} steps`, checked, faults };
}

/** Holds while all environments are alive; that no floor is suspended is for the campaign to see to. */
export function floors(evidence: Evidence): Finding {
  const { history } = evidence;
  const busy = busyBatches(evidence);
  let checked = 0;
  const faults: string[] = [];
  for (const { environment, name, floor } of history.environments) {
    if (floor === null) continue;
    const least = Math.floor(floor * history.batchSize);
    for (const batch of busy) {
      checked += 1;
      const sequences = sequencesIn(evidence, batch, environment);
      if (sequences < least)
        faults.push(`batch ${batch.batch} has ${sequences} sequences of ${name}, whose floor is ${least}`);
    }
  }
  return { check: "every batch keeps the floors", checked, faults };
}

/** Of all sequences an environment's share may be so far from that of its weight: environments run dry under faults. */
export const SHARE_TOLERANCE = 0.12;

export function shares(evidence: Evidence): Finding {
  const { history } = evidence;
  const busy = busyBatches(evidence);
  const weights = history.environments.reduce((sum, { weight }) => sum + weight, 0);
  const all = busy.length * history.batchSize;
  const found = history.environments.map(({ environment, name, weight }) => {
    const sequences = busy.reduce((sum, batch) => sum + sequencesIn(evidence, batch, environment), 0);
    return { name, due: weight / weights, share: sequences / all };
  });
  const faults = found.flatMap(({ name, due, share }) =>
    Math.abs(share - due) <= SHARE_TOLERANCE
      ? []
      : [`${name} has ${percent(share)} of the sequences, and ${percent(due)} of the weights`],
  );
  return { check: `shares follow the weights within ${percent(SHARE_TOLERANCE)}`, checked: busy.length, faults };
}

function busyBatches({ history, batches }: Evidence) {
  return [...batches.values()].filter(({ step }) => step <= history.lastBusyStep);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(1)} %`;
}
