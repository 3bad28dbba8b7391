/** Most completions one call asks for (the stock rule): servers differ in how large an n they take. */
export const MAX_COMPLETIONS_PER_CALL = 8;

export interface Part {
  readonly n: number;
  readonly seed: number | undefined;
}

/** Splits n completions into calls of at most 8, each with a seed of its own. */
export function splitCalls(n: number, seed: number | undefined): Part[] {
  const calls = Math.ceil(n / MAX_COMPLETIONS_PER_CALL);
  return Array.from({ length: calls }, (_, call) => ({
    n: Math.min(MAX_COMPLETIONS_PER_CALL, n - call * MAX_COMPLETIONS_PER_CALL),
    seed: seed === undefined ? undefined : derivedSeed(seed, call),
  }));
}

/**
 * The first call keeps the seed. Later ones are mixed, not counted up: vLLM gives the k-th completion of a call seed + k, so
 * neighbouring seeds would repeat completions. 31 bits, which every server takes.
 */
function derivedSeed(seed: number, call: number): number {
  if (call === 0) return seed;
  let hash = Math.imul(seed ^ Math.imul(call, 0x9e3779b1), 0x85ebca6b);
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35);
  return (hash ^ (hash >>> 16)) & 0x7fffffff;
}
