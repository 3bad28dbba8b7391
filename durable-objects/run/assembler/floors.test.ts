import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { floorsInSequences } from "./floors.ts";

function floorsOf(batchSize: number, shares: readonly (number | null)[]): number[] {
  const floors = floorsInSequences(
    batchSize,
    shares.map((floor, id) => ({ id, floor, alive: true })),
  );
  return shares.map((_, id) => floors.get(id) ?? 0);
}

describe("floorsInSequences", () => {
  it.each([
    { batchSize: 8, shares: [0.5], floors: [4] },
    { batchSize: 8, shares: [0.75, 0.75], floors: [4, 4] },
    { batchSize: 10, shares: [0.3], floors: [3] },
    { batchSize: 100, shares: [0.29], floors: [29] },
    { batchSize: 9, shares: [1 / 3, 1 / 3, 1 / 3], floors: [3, 3, 3] },
    { batchSize: 9, shares: [0.7, 0.7, 0.7], floors: [3, 3, 3] },
    { batchSize: 30, shares: [0.1, 0.2, 0.3, 0.4, 0.5], floors: [2, 4, 6, 8, 10] },
    { batchSize: 7, shares: [0.5], floors: [3] },
    { batchSize: 8, shares: [0.1, null, 0], floors: [0, 0, 0] },
    { batchSize: 8, shares: [3], floors: [8] },
  ])("$shares of $batchSize are $floors", ({ batchSize, shares, floors }) => {
    expect(floorsOf(batchSize, shares)).toEqual(floors);
  });

  it("gives nothing to an environment that is not alive, and scales without it", () => {
    const floors = floorsInSequences(8, [
      { id: 1, floor: 0.75, alive: true },
      { id: 2, floor: 0.75, alive: false },
    ]);
    expect([...floors]).toEqual([[1, 6]]);
  });

  it("never claims more than the batch", () => {
    const shares = fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 40 });
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 100_000 }), shares, (batchSize, floors) => {
        const sum = floorsOf(batchSize, floors).reduce((total, floor) => total + floor, 0);
        expect(sum).toBeLessThanOrEqual(batchSize);
      }),
    );
  });

  it("gives exact fractions of the batch exactly, scaled or not", () => {
    const parts = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 20 });
    fc.assert(
      fc.property(parts, fc.integer({ min: 1, max: 3 }), (sequences, factor) => {
        const batchSize = sequences.reduce((total, part) => total + part, 0);
        const shares = sequences.map((part) => (part / batchSize) * factor);
        expect(floorsOf(batchSize, shares)).toEqual(sequences);
      }),
    );
  });
});
