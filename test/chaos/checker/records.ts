import { type Evidence, type Finding, isTaken } from "./evidence.ts";

/** The record of a lease says what its client was told. */
export function leasesEnd({ history }: Evidence): Finding {
  const onRecord = new Map(history.leases.map((lease) => [`lease ${lease.lease}`, lease]));
  const submitted = new Map(
    history.submissions
      .filter((submission) => submission.identity?.startsWith("lease ") && isTaken(submission))
      .map((submission) => [submission.identity, submission]),
  );
  const faults: string[] = [];
  for (const [identity, { groups }] of submitted) {
    const lease = onRecord.get(identity ?? "");
    if (lease === undefined) faults.push(`${identity} took groups and is not on record`);
    else if (lease.outcome !== "submitted") faults.push(`${identity} took groups and is ${lease.outcome} on record`);
    else if (lease.groups !== groups.length)
      faults.push(`${identity} took ${groups.length} groups and has ${lease.groups} on record`);
  }
  for (const [identity, { outcome }] of onRecord) {
    if (outcome === "submitted" && !submitted.has(identity))
      faults.push(`${identity} is submitted on record, and nobody was told so`);
    if (outcome === "open") faults.push(`${identity} has never ended`);
  }
  return { check: "every rollout lease ended as its client was told", checked: onRecord.size, faults };
}

const LEASES_PER_ITEM = 5;

/** No item is drawn twice but after its lease was lost, and none is left out. */
export function itemsOnce({ history }: Evidence): Finding {
  const faults: string[] = [];
  let checked = 0;
  const ofItems = history.leases.filter(({ item }) => item !== null);
  for (const [environment, leases] of Map.groupBy(ofItems, (lease) => lease.environment)) {
    const byItem = Map.groupBy(leases, ({ item }) => item ?? -1);
    for (let item = 0; item <= Math.max(...byItem.keys()); item++) {
      checked += 1;
      const drawn = byItem.get(item);
      const which = `item ${item} of environment ${environment}`;
      if (drawn === undefined) {
        faults.push(`${which} was left out`);
        continue;
      }
      const attempts = drawn.map(({ attempt }) => attempt);
      if (attempts.some((attempt, index) => attempt !== index + 1) || attempts.length > LEASES_PER_ITEM)
        faults.push(`${which} was leased as attempts ${attempts.join(", ")}`);
      if (drawn.slice(0, -1).some(({ outcome }) => outcome !== "expired"))
        faults.push(`${which} was leased again after ${drawn.map(({ outcome }) => outcome).join(", ")}`);
    }
  }
  return { check: "every item is drawn once, and again only when its lease was lost", checked, faults };
}

/**
 * When all is drained the shards hold no payload that the Run doesn't know of: one that it was never told of is in nobody's
 * queue, and would stay for ever.
 */
export function nothingLeftBehind({ history }: Evidence): Finding {
  const faults = history.payloads.flatMap(({ payload, known }) => (known ? [] : [`payload ${payload} is left behind`]));
  return { check: "no payload is left behind in a shard", checked: history.payloadsEver, faults };
}
