import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Admission, byNeed, reserves } from "./admission.ts";

const claimant = (id: number, held: number, reserve = 0) => ({ id, held, reserve });

describe("room", () => {
  test.each([
    ["alone, up to the limit", [claimant(0, 8)], 8, 0, 24],
    ["what others hold counts", [claimant(0, 8), claimant(1, 16)], 24, 0, 8],
    ["what came without a lease counts", [claimant(0, 0)], 30, 0, 2],
    ["another's unmet reserve is not given away", [claimant(0, 8), claimant(1, 0, 16)], 8, 0, 8],
    ["a met reserve is no reserve", [claimant(0, 8), claimant(1, 16, 16)], 24, 0, 8],
    ["its own reserve is there for it", [claimant(0, 0, 16), claimant(1, 16, 0)], 16, 0, 16],
    ["a full run has none, reserve or not", [claimant(0, 0, 16)], 32, 0, 0],
    ["an environment nobody knows gets what is left over", [claimant(0, 0, 16)], 8, 7, 8],
  ])("%s", (_what, claimants, total, environment, expected) => {
    expect(new Admission(claimants, { limit: 32, total }).room(environment)).toBe(expected);
  });

  test("leases given out one by one never exceed the limit, and never eat another's reserve", () => {
    const scenario = fc.record({
      reserves: fc.array(fc.integer({ min: 0, max: 4 }), { minLength: 1, maxLength: 5 }),
      order: fc.array(fc.nat(4), { maxLength: 60 }),
      size: fc.integer({ min: 1, max: 4 }),
    });
    fc.assert(
      fc.property(scenario, ({ reserves: kept, order, size }) => {
        const limit = 24;
        const held = kept.map(() => 0);
        const admission = new Admission(
          kept.map((reserve, id) => claimant(id, 0, reserve)),
          { limit, total: 0 },
        );
        for (const id of order) {
          if (id >= kept.length || admission.room(id) < size) continue;
          admission.take(id, size);
          held[id] = (held[id] ?? 0) + size;
          const total = held.reduce((sum, sequences) => sum + sequences, 0);
          expect(total).toBeLessThanOrEqual(limit);
          const owed = kept.reduce((sum, reserve, other) => sum + Math.max(0, reserve - (held[other] ?? 0)), 0);
          expect(owed).toBeLessThanOrEqual(limit - total);
        }
      }),
    );
  });
});

describe("reserves", () => {
  const one = { id: 0, leaseSequences: 8, weight: 3, floor: 0 };
  const two = { id: 1, leaseSequences: 8, weight: 1, floor: 10 };
  test.each([
    ["a floor times the batches, in whole leases", false, [0, 24]],
    ["the weights' shares too when mixing is weighted", true, [48, 24]],
  ])("%s", (_what, weighted, expected) => {
    expect([...reserves([one, two], { batches: 2, limit: 64, weighted }).values()]).toEqual(expected);
  });

  test("a small weight gets one lease, a weight of 0 none", () => {
    const small = { ...one, weight: 0.001 };
    const none = { ...one, id: 1, weight: 0 };
    const large = { ...one, id: 2, weight: 1 };
    const kept = reserves([small, none, large], { batches: 2, limit: 64, weighted: true });
    expect([...kept.values()]).toEqual([8, 0, 56]);
  });
});

test("who holds least for its weight is served first, then who has waited longest", () => {
  const waiting = [
    { name: "a", held: 8, weight: 1 },
    { name: "b", held: 8, weight: 4 },
    { name: "c", held: 2, weight: 1 },
    { name: "weightless", held: 0, weight: 0 },
  ];
  expect(byNeed(waiting).map(({ name }) => name)).toEqual(["b", "c", "a", "weightless"]);
});
