import { describe, expect, test } from "vitest";
import { Adam, createPolicy } from "../policy/index.ts";
import { meanOf } from "./advantages.ts";
import { learnOffline, type OfflineStep, type Problem } from "./offline.ts";

const SEEDS = [1, 2, 3];
const STEPS = 40;
/** Steps whose mean is compared, at the beginning and at the end. */
const WINDOW = 5;

/** To answer is to read one word. */
function problemAt(index: number): Problem {
  return index % 2 === 0 ? { question: "Mia wins.", value: 7 } : { question: "Tom loses.", value: 3 };
}

function learn(seed: number, learningRate: number, staleness: number): OfflineStep[] {
  const config = { width: 16, heads: 2, layers: 1, hidden: 16 };
  const policy = createPolicy({ seed, config, pretraining: { steps: 80, maxAnswer: 9 } });
  const optimizer = new Adam(policy.weights.length, { learningRate });
  return learnOffline({ policy, optimizer, problemAt, steps: STEPS, groups: 8, groupSize: 8, seed, staleness });
}

/** How much the mean reward, which is from −1 to 1, has risen from the first steps to the last. */
function rise(curve: readonly OfflineStep[]): number {
  const means = curve.filter(({ sampledSequences }) => sampledSequences > 0).map(({ rewardMean }) => rewardMean);
  return meanOf(means.slice(-WINDOW)) - meanOf(means.slice(0, WINDOW));
}

describe.each(SEEDS)("seed %i", (seed) => {
  test.each([0, 2])(
    "the reward rises with groups %i steps old",
    (staleness) => {
      expect(rise(learn(seed, 1e-2, staleness))).toBeGreaterThan(0.5);
    },
    60_000,
  );

  test("it doesn't at a learning rate of 0", () => {
    expect(Math.abs(rise(learn(seed, 0, 0)))).toBeLessThan(0.2);
  }, 60_000);
});
