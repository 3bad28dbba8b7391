import type { EnvironmentId, QueueIndex } from "./queue-index.ts";

/**
 * Deficits in sequences, by environment: what an environment has earned by its weight and not yet been picked for. They add
 * up to 0, but for what deficitLimit cuts off. Kept from batch to batch.
 */
export type MixingState = ReadonlyMap<EnvironmentId, number>;

/** Weights by environment, 0 or more, in any unit; an environment without one has DEFAULT_WEIGHT. */
export type Weights = ReadonlyMap<EnvironmentId, number>;

/** By environment, adding up to 1. */
type Shares = ReadonlyMap<EnvironmentId, number>;

const DEFAULT_WEIGHT = 1;

/**
 * The bound of a deficit, in sequences, over n environments. Picking the largest deficit keeps each above −B and below
 * about (1 + ln n)·B by itself (it is the cup game, in which emptying the fullest cup leaves at most the n-th harmonic number).
 * Only what overrides the weights reaches this bound: floors, the oldest group's place (P4), sizes that do not fit. Without
 * it, an environment that nothing fits with for a day would own all batches of the next.
 */
export function deficitLimit(batchSize: number, environments: number): number {
  return batchSize * (2 + Math.log2(Math.max(1, environments)));
}

/**
 * Each environment's share of the next batch, adding up to 1, among those with a group that fits into a batch. If their
 * weights are all 0 they share alike. O(classes).
 */
export function sharesOf(index: QueueIndex, batchSize: number, weights: Weights): Map<EnvironmentId, number> {
  const shares = new Map<EnvironmentId, number>();
  let sum = 0;
  for (const [environment, { classes }] of index.environments) {
    if (!hasSizeUpTo(batchSize, classes.keys())) continue;
    const weight = weights.get(environment) ?? DEFAULT_WEIGHT;
    shares.set(environment, weight);
    sum += weight;
  }
  for (const [environment, weight] of shares) shares.set(environment, sum > 0 ? weight / sum : 1 / shares.size);
  return shares;
}

/**
 * Deficits when a batch of `batchSize` sequences begins: each environment of `shares` earns its share, and the others, who
 * have nothing queued, lose what they had.
 */
export function earn(state: MixingState, shares: Shares, batchSize: number): Map<EnvironmentId, number> {
  const deficits = new Map<EnvironmentId, number>();
  for (const [environment, share] of shares)
    deficits.set(environment, (state.get(environment) ?? 0) + share * batchSize);
  return deficits;
}

/**
 * Deficits after a batch: each environment pays the sequences picked from it, within the limit. What the limit cut off, or an
 * environment that left took with it, is made up by the others in proportion to their shares: the sum returns to 0, so that
 * an environment that cannot be picked does not pull all others down to the limit, where weights mean nothing.
 */
export function settleDeficits(
  earned: ReadonlyMap<EnvironmentId, number>,
  shares: Shares,
  picked: ReadonlyMap<EnvironmentId, number>,
  batchSize: number,
): MixingState {
  const limit = deficitLimit(batchSize, shares.size);
  const clamp = (deficit: number) => Math.min(limit, Math.max(-limit, deficit));
  const deficits = new Map<EnvironmentId, number>();
  let sum = 0;
  let freeShare = 0;
  for (const [environment, deficit] of earned) {
    const paid = clamp(deficit - (picked.get(environment) ?? 0));
    deficits.set(environment, paid);
    sum += paid;
    if (Math.abs(paid) < limit) freeShare += shares.get(environment) ?? 0;
  }
  if (freeShare === 0) return deficits;
  for (const [environment, deficit] of deficits) {
    if (Math.abs(deficit) === limit) continue;
    deficits.set(environment, clamp(deficit - (sum * (shares.get(environment) ?? 0)) / freeShare));
  }
  return deficits;
}

function hasSizeUpTo(batchSize: number, sizes: Iterable<number>): boolean {
  for (const size of sizes) if (size <= batchSize) return true;
  return false;
}
