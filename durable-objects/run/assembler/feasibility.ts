import { type Bits, highestBit, keepRange, or, singleton, sumset, test } from "./bits.ts";

/** Groups by size, in sequences. */
export type SizeCounts = ReadonlyMap<number, number>;

/** An environment that still needs sequences to meet its floor. */
export interface UnmetFloor {
  /** In sequences, above 0. */
  readonly missing: number;
  readonly counts: SizeCounts;
}

/**
 * Whether some selection adds up to exactly `capacity` sequences and gives every environment of `unmet` at least what it
 * misses: bounded subset sum, exact. Everything in `pool` is interchangeable by size, whoever's it is.
 *
 * O(sizes · log(capacity) · capacity/32), and O(capacity²/32) more for each unmet floor: no count of groups matters, as no
 * more than capacity/size groups of a size can be used.
 */
export function canFill(capacity: number, pool: readonly SizeCounts[], unmet: readonly UnmetFloor[]): boolean {
  const sums = reachableSums(capacity, pool, unmet);
  return sums !== null && test(sums, capacity);
}

/** The largest sum of at most `capacity` sequences that meets the floors, or null if none does. Costs as canFill. */
export function largestSum(capacity: number, pool: readonly SizeCounts[], unmet: readonly UnmetFloor[]): number | null {
  const sums = reachableSums(capacity, pool, unmet);
  if (sums === null) return null;
  keepRange(sums, 0, capacity);
  return highestBit(sums);
}

function reachableSums(capacity: number, pool: readonly SizeCounts[], unmet: readonly UnmetFloor[]): Bits | null {
  // An environment can go over its floor only by what the other floors leave free.
  const slack = unmet.reduce((free, { missing }) => free - missing, capacity);
  if (slack < 0) return null;
  let sums = singleton(capacity);
  for (const counts of pool) addMultiples(sums, counts, capacity);
  for (const { missing, counts } of unmet) {
    const own = singleton(capacity);
    addMultiples(own, counts, capacity);
    keepRange(own, missing, missing + slack);
    if (highestBit(own) === null) return null;
    sums = sumset(sums, own, capacity);
  }
  return sums;
}

/** Adds every choice of 0 to `count` groups of each size, in binary pieces: 1, 2, 4, … and a rest make any number of them. */
function addMultiples(sums: Bits, counts: SizeCounts, capacity: number): void {
  for (const [size, count] of counts) {
    let left = Math.min(count, Math.floor(capacity / size));
    for (let piece = 1; left > 0; piece *= 2) {
      const taken = Math.min(piece, left);
      or(sums, sums, taken * size);
      left -= taken;
    }
  }
}
