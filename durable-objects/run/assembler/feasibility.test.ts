import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { canFill, largestSum } from "./feasibility.ts";

describe("canFill", () => {
  it.each([
    { capacity: 0, pool: [], expected: true },
    { capacity: 31, pool: [[31, 1]], expected: true },
    { capacity: 32, pool: [[32, 1]], expected: true },
    { capacity: 64, pool: [[32, 2]], expected: true },
    { capacity: 96, pool: [[32, 2]], expected: false },
    { capacity: 1023, pool: [[2, 1e6]], expected: false },
    { capacity: 1024, pool: [[2, 1e6]], expected: true },
    { capacity: 6, pool: [[4, 9]], expected: false },
  ] satisfies { capacity: number; pool: [number, number][]; expected: boolean }[])(
    "$capacity from $pool: $expected",
    ({ capacity, pool, expected }) => {
      expect(canFill(capacity, [new Map<number, number>(pool)], [])).toBe(expected);
    },
  );

  it("agrees with a plain dynamic program, across word boundaries", () => {
    const counts = fc
      .uniqueArray(fc.tuple(fc.integer({ min: 1, max: 150 }), fc.nat({ max: 12 })), {
        maxLength: 4,
        selector: ([size]) => size,
      })
      .map((entries) => new Map(entries));
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        counts,
        counts,
        fc.nat({ max: 200 }),
        (capacity, pool, own, missing) => {
          const ownSums = [...plainSums(own)].filter((sum) => sum >= missing);
          const sums = new Set([...plainSums(pool)].flatMap((sum) => ownSums.map((other) => sum + other)));
          const unmet = missing > 0 ? [{ missing, counts: own }] : [];
          const pools = missing > 0 ? [pool] : [pool, own];
          expect(canFill(capacity, pools, unmet)).toBe(sums.has(capacity));
          const within = [...sums].filter((sum) => sum <= capacity);
          expect(largestSum(capacity, pools, unmet)).toBe(within.length > 0 ? Math.max(...within) : null);
        },
      ),
    );
  });
});

function plainSums(counts: ReadonlyMap<number, number>): Set<number> {
  let sums = new Set([0]);
  for (const [size, count] of counts) {
    const grown = new Set<number>();
    for (const sum of sums) for (let taken = 0; taken <= count; taken++) grown.add(sum + taken * size);
    sums = grown;
  }
  return sums;
}
