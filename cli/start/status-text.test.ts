import { expect, test } from "vitest";
import { RewardTrend } from "./reward-trend.ts";
import { type RunStatus, statusText } from "./status-text.ts";

const status: RunStatus = {
  run: "default",
  step: 3,
  steps: null,
  rewards: null,
  groups: 2,
  environments: 1,
  groupsPerSecond: 0.5,
  reason: "4 sequences are missing",
};

test.each<[Partial<RunStatus>, string]>([
  [{}, "default: step 3 | queue 2 groups | 1 environment | 0.5 groups/s | 4 sequences are missing"],
  [{ groupsPerSecond: 9.96 }, "10.0 groups/s"],
  [{ groupsPerSecond: 1234.5 }, "1235 groups/s"],
  [{ environments: 0 }, "0 environments"],
  [{ steps: 150, rewards: { first: -0.611, last: -0.118 } }, "default: step 3/150 | reward -0.61 → -0.12 | queue"],
  [{ rewards: { first: -0.001, last: 1 } }, "reward 0.00 → 1.00"],
])("%j reads %s", (changes, words) => {
  expect(statusText({ ...status, ...changes })).toContain(words);
});

test("what comes before the reason leaves room for it in 120 columns", () => {
  const long = { step: 1_234, steps: 5_000, groups: 256, groupsPerSecond: 123 };
  const line = statusText({ ...status, ...long, rewards: { first: -0.61, last: -0.12 }, reason: "" });
  expect(line.length).toBeLessThan(105);
});

test("the trend is the mean of the first and of the last ten steps, each step once", () => {
  const trend = new RewardTrend();
  expect(trend.means).toBeNull();
  for (let step = 1; step <= 30; step++) for (let time = 0; time < 3; time++) trend.add(step, step);
  expect(trend.means).toEqual({ first: 5.5, last: 25.5 });
});

test("a run that goes on keeps the mean of its first steps", () => {
  const trend = new RewardTrend();
  trend.goOnFrom(-0.5);
  trend.add(41, 0.25);
  expect(trend.means).toEqual({ first: -0.5, last: 0.25 });
});
