import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { broadcast, discountedReturns, groupAdvantages } from "./advantages.ts";

describe("groupAdvantages", () => {
  test.each([
    { scores: [1, -1], advantages: [1, -1] },
    { scores: [1, 0, 0, 0], advantages: [Math.sqrt(3), -1 / Math.sqrt(3), -1 / Math.sqrt(3), -1 / Math.sqrt(3)] },
    { scores: [0, 1e-10], advantages: [-0.005, 0.005] },
    { scores: [0.1, 0.1, 0.1], advantages: [0, 0, 0] },
    { scores: [5], advantages: [0] },
    { scores: [], advantages: [] },
  ])("$scores", ({ scores, advantages }) => {
    const found = groupAdvantages(scores);
    expect(found).toHaveLength(advantages.length);
    for (const [i, advantage] of advantages.entries()) expect(found[i]).toBeCloseTo(advantage, 10);
  });

  test("have mean 0 and deviation 1, and neither shift nor scale of the scores counts", () => {
    const scores = fc.array(fc.integer({ min: -100, max: 100 }), { minLength: 2, maxLength: 64 });
    fc.assert(
      fc.property(scores, fc.integer({ min: -50, max: 50 }), fc.integer({ min: 1, max: 9 }), (list, shift, scale) => {
        fc.pre(new Set(list).size > 1);
        const advantages = groupAdvantages(list);
        const mean = advantages.reduce((sum, advantage) => sum + advantage, 0) / list.length;
        const square = advantages.reduce((sum, advantage) => sum + advantage ** 2, 0) / list.length;
        expect(mean).toBeCloseTo(0, 9);
        expect(square).toBeCloseTo(1, 9);
        const moved = groupAdvantages(list.map((score) => score * scale + shift));
        for (const [i, advantage] of advantages.entries()) expect(moved[i]).toBeCloseTo(advantage, 9);
      }),
    );
  });

  test.each([Number.NaN, Number.POSITIVE_INFINITY])("a score of %s is refused", (score) => {
    expect(() => groupAdvantages([1, score])).toThrow(`score 1 is ${score}`);
  });
});

describe("discountedReturns", () => {
  test.each([
    { rewards: [1, 2, 3], gamma: 1, returns: [6, 5, 3] },
    { rewards: [1, 2, 3], gamma: 0, returns: [1, 2, 3] },
    { rewards: [1, 2, 4], gamma: 0.5, returns: [3, 4, 4] },
    { rewards: [0, 0, 1], gamma: 0.9, returns: [0.81, 0.9, 1] },
    { rewards: [], gamma: 0.9, returns: [] },
  ])("$rewards by $gamma", ({ rewards, gamma, returns }) => {
    const found = discountedReturns(rewards, gamma);
    expect(found).toHaveLength(returns.length);
    for (const [i, value] of returns.entries()) expect(found[i]).toBeCloseTo(value, 12);
  });

  test.each([-0.1, 1.1, Number.NaN])("a gamma of %s is refused", (gamma) => {
    expect(() => discountedReturns([1], gamma)).toThrow(`gamma is ${gamma}`);
  });
});

test("broadcast repeats a sequence's advantage over its tokens", () => {
  expect(broadcast([0.5, -1, 2], [2, 0, 1])).toEqual([[0.5, 0.5], [], [2]]);
  expect(() => broadcast([1], [1, 2])).toThrow("1 advantages for 2 sequences");
});
