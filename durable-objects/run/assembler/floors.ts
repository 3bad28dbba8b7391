export interface EnvironmentFloor {
  readonly id: number;
  /** The least share of every batch, 0 to 1; null for none. */
  readonly floor: number | null;
  /** Heard from recently enough (P5: within 60 s). */
  readonly alive: boolean;
}

/**
 * Shares such as 0.29 or 1/3 are not exact in binary, so a product that should be a whole number may come out just below
 * it (0.29 · 100 is 28.999999999999996) and lose a sequence. Computed products are off by some 1e-15 of themselves; this is
 * well above, and far too small to lift an honest fraction: even all of B grows by less than one sequence for B < 1e9, so
 * the floors still add up to at most B.
 */
const ROUNDING_SLACK = 1e-9;

/**
 * The floors of a batch in sequences, by environment id (P5): ⌊f·B⌋; floors that add up to more than 1 are scaled by one
 * over their sum; an environment that is not alive has none. Floors of 0 sequences are left out. O(environments).
 */
export function floorsInSequences(batchSize: number, environments: Iterable<EnvironmentFloor>): Map<number, number> {
  const shares = new Map<number, number>();
  let sum = 0;
  for (const { id, floor, alive } of environments) {
    if (!alive || floor === null || !(floor > 0)) continue;
    shares.set(id, floor);
    sum += floor;
  }
  const floors = new Map<number, number>();
  for (const [id, share] of shares) {
    const sequences = Math.floor(((share * batchSize) / Math.max(1, sum)) * (1 + ROUNDING_SLACK));
    if (sequences > 0) floors.set(id, sequences);
  }
  return floors;
}
