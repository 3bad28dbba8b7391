import type { UnmetFloor } from "./feasibility.ts";
import type { QueueIndex } from "./queue-index.ts";

/** What a batch may be made of, in the terms of the feasibility check. */
export interface Demand {
  /** Groups by size, of all environments without a floor. */
  readonly pool: Map<number, number>;
  /** By environment id. */
  readonly floored: ReadonlyMap<number, UnmetFloor & { readonly counts: Map<number, number> }>;
}

/** O(sizes + classes of environments with a floor): the pool is what the index counts by size, less theirs. */
export function demandOf(index: QueueIndex, batchSize: number, floors: ReadonlyMap<number, number>): Demand {
  const pool = new Map<number, number>();
  for (const [size, count] of index.groupsBySize) if (size <= batchSize) pool.set(size, count);
  const floored = new Map<number, UnmetFloor & { readonly counts: Map<number, number> }>();
  for (const [environment, missing] of floors) {
    if (missing <= 0) continue;
    const counts = new Map<number, number>();
    for (const [size, { ages }] of index.environments.get(environment)?.classes ?? []) {
      if (size > batchSize) continue;
      counts.set(size, ages.length);
      pool.set(size, (pool.get(size) ?? 0) - ages.length);
    }
    floored.set(environment, { missing, counts });
  }
  return { pool, floored };
}
