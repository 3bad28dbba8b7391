import { hash, mix } from "./hash.ts";

const ROUNDS = 6;

/**
 * The order in which a data set of `count` items is drawn: maps the n-th item drawn (n = 0, 1, 2, … without end) to an index
 * into the data set. Each epoch of `count` draws is a permutation of its own, so every index comes once an epoch. Nothing
 * is stored: a keyed Feistel network permutes the smallest power of four that holds `count`, and results outside the data
 * set are permuted again until they fall inside (less than four times on average).
 * @throws RangeError when count is not a whole number from 1 to 2⁴⁸, or n is not a whole number from 0.
 */
export function itemOrder(count: number, seed: number): (n: number) => number {
  if (!Number.isSafeInteger(count) || count < 1 || count > 2 ** 48) {
    throw new RangeError(`count is ${count}; an order needs a data set of 1 to 2^48 items`);
  }
  const half = 2 ** Math.max(1, Math.ceil(Math.log2(count) / 2));
  return (n) => {
    if (!Number.isSafeInteger(n) || n < 0) throw new RangeError(`n is ${n}; draws are counted 0, 1, 2, …`);
    const keys = roundKeys(seed, Math.floor(n / count));
    let index = n % count;
    do index = permute(index, half, keys);
    while (index >= count);
    return index;
  };
}

function roundKeys(seed: number, epoch: number): number[] {
  return Array.from({ length: ROUNDS }, (_, round) => hash(round, "item order", seed, epoch));
}

/** One Feistel network over half² values: any round function makes it a bijection. */
function permute(value: number, half: number, keys: readonly number[]): number {
  let left = Math.floor(value / half);
  let right = value % half;
  for (const key of keys) {
    [left, right] = [right, (left + (mix(right ^ key) % half)) % half];
  }
  return left * half + right;
}
