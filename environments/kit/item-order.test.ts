import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { itemOrder } from "./item-order.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });

describe("itemOrder", () => {
  const epoch = (count: number, seed: number, number: number) => {
    const at = itemOrder(count, seed);
    return Array.from({ length: count }, (_, i) => at(number * count + i));
  };

  test("every index comes exactly once an epoch", () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 700 }), seeds, fc.nat(1_000_000), (count, seed, number) => {
        const drawn = epoch(count, seed, number).toSorted((a, b) => a - b);
        expect(drawn).toEqual(Array.from({ length: count }, (_, i) => i));
      }),
    );
  });

  test("epochs and seeds have orders of their own, none of them sorted", () => {
    fc.assert(
      fc.property(fc.integer({ min: 16, max: 300 }), seeds, (count, seed) => {
        const orders = Array.from({ length: 20 }, (_, number) => epoch(count, seed, number).join());
        const sorted = Array.from({ length: count }, (_, i) => i).join();
        expect(new Set([...orders, epoch(count, seed ^ 1, 0).join(), sorted]).size).toBe(22);
      }),
      { numRuns: 50 },
    );
  });

  test("a position gets every index about as often", () => {
    const counts = Array.from({ length: 10 }, () => 0);
    for (let number = 0; number < 5_000; number++) {
      const index = itemOrder(10, 3)(number * 10);
      counts[index] = (counts[index] ?? 0) + 1;
    }
    for (const count of counts) expect(Math.abs(count - 500)).toBeLessThan(100);
  });

  test("a huge data set costs no more", () => {
    const at = itemOrder(2 ** 48 - 1, 9);
    const drawn = Array.from({ length: 1_000 }, (_, n) => at(n));
    expect(new Set(drawn).size).toBe(1_000);
    expect(drawn.every((index) => index >= 0 && index < 2 ** 48 - 1)).toBe(true);
    expect(drawn.filter((index) => index < 2 ** 47).length).toBeGreaterThan(400);
  });

  test.each([0, -1, 1.5, Number.NaN, 2 ** 48 + 1])("a data set of %s items is refused", (count) => {
    expect(() => itemOrder(count, 1)).toThrow(`count is ${count}`);
  });

  test.each([-1, 0.5, Number.NaN])("draw %s is refused", (n) => {
    expect(() => itemOrder(5, 1)(n)).toThrow(`n is ${n}`);
  });
});
