// What the tests share: small random queues, and exhaustive search as the oracle.
import fc from "fast-check";
import { type QueuedGroup, QueueIndex } from "./queue-index.ts";

export interface Queue {
  readonly groups: readonly QueuedGroup[];
  readonly batchSize: number;
  readonly floors: ReadonlyMap<number, number>;
}

export function indexOf(groups: Iterable<QueuedGroup>): QueueIndex {
  const index = new QueueIndex();
  for (const group of groups) index.add(group);
  return index;
}

/** Groups of one environment with ages from `firstAge`, by their sizes. */
export function groupsOf(environment: number | null, sizes: readonly number[], firstAge = 0): QueuedGroup[] {
  return sizes.map((size, position) => ({ age: firstAge + position, environment, size }));
}

/** At most 12 groups of 3 environments (one of them null), sizes 1 to 6, and floors that sum to at most B. */
export const smallQueues: fc.Arbitrary<Queue> = fc
  .record({
    members: fc.array(fc.record({ environment: fc.constantFrom(1, 2, null), size: fc.integer({ min: 1, max: 6 }) }), {
      maxLength: 12,
    }),
    // Few sizes at a time, else nearly everything adds up.
    scale: fc.constantFrom(1, 1, 2, 3),
    batchSize: fc.integer({ min: 1, max: 24 }),
    shares: fc.tuple(fc.double({ min: 0, max: 0.6, noNaN: true }), fc.double({ min: 0, max: 0.4, noNaN: true })),
  })
  .map(({ members, scale, batchSize, shares }) => ({
    groups: members.map(({ environment, size }, age) => ({ age, environment, size: size * scale })),
    batchSize,
    floors: new Map(shares.map((share, position) => [position + 1, Math.floor(share * batchSize)])),
  }));

/** Every valid batch, by age within. */
export function allValidBatches({ groups, batchSize, floors }: Queue): QueuedGroup[][] {
  const batches: QueuedGroup[][] = [];
  for (let subset = 0; subset < 2 ** groups.length; subset++) {
    const chosen = groups.filter((_, position) => ((subset >>> position) & 1) === 1);
    if (isValid(chosen, batchSize, floors)) batches.push(chosen);
  }
  return batches;
}

export function isValid(
  groups: readonly QueuedGroup[],
  batchSize: number,
  floors: ReadonlyMap<number, number>,
): boolean {
  if (sequencesOf(groups) !== batchSize) return false;
  for (const [environment, floor] of floors) {
    if (sequencesOf(groups.filter((group) => group.environment === environment)) < floor) return false;
  }
  return true;
}

export function sequencesOf(groups: readonly QueuedGroup[]): number {
  return groups.reduce((sum, { size }) => sum + size, 0);
}

export function agesOf(groups: readonly QueuedGroup[]): number[] {
  return groups.map(({ age }) => age);
}

/** Whether a's ages come before b's in lexicographical order; neither valid batch can be a prefix of the other. */
export function isOlder(a: readonly QueuedGroup[], b: readonly QueuedGroup[]): boolean {
  const differing = a.findIndex(({ age }, position) => age !== b[position]?.age);
  return (a[differing]?.age ?? 0) < (b[differing]?.age ?? 0);
}

export function removeAll(index: QueueIndex, groups: readonly QueuedGroup[]): void {
  for (const { age, environment, size } of groups) index.remove(age, environment, size);
}
