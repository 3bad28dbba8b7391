import type { Batch, Batches } from "./batches.ts";

/** How long a trainer that has let go of its batches is given to take them again: it may only have started anew. */
const AWAITED_FOR_MS = 90_000;

/**
 * What becomes of the batches, up to a step, out of which a policy is yet to be made. "awaited": a trainer has one under a
 * lease, or had one a moment ago. "left": nobody has had any for longer, since they were given back or rewound, their stream
 * broke or their lease ended. Null: there are none. One that is out without a lease doesn't count, for nobody says when it
 * was learned from.
 */
export function unlearned(
  { open, endedAt }: Pick<Batches, "open" | "endedAt">,
  lastStep: number,
  now: number,
): "awaited" | "left" | null {
  let last: number | null = null;
  for (const batch of open.values()) {
    const since = batch.step <= lastStep ? leftSince(batch) : null;
    if (since !== null) last = Math.max(last ?? since, since);
  }
  if (last === null) return null;
  // A trainer that went back several steps learns from one batch after the other: the rest has not been left meanwhile.
  return now - Math.max(endedAt, last) < AWAITED_FOR_MS ? "awaited" : "left";
}

/** Since when nobody holds it, in Unix milliseconds, perhaps a time to come; null if it is out without a lease. */
function leftSince({ leaseUntil, leftAt }: Batch): number | null {
  return leaseUntil > 0 ? leaseUntil : leftAt;
}
