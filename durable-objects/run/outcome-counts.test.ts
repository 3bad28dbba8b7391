import { expect, test } from "vitest";
import { MAX_OUTCOME_SERIES, outcomeCounts } from "./outcome-counts.ts";

const nameOf = (id: number) => (id < 0 ? null : `env_${id}`);

test("outcomes are told by environment, outcome and reason", () => {
  const counts = new Map([
    [2, { failed: { timeout: 3, lost_too_often: 1 } }],
    [-1, { dropped: { stale: 7 } }],
    [0, { submitted: { "": 5 } }],
  ]);
  expect(outcomeCounts(counts, nameOf)).toEqual({
    series: [
      { environment: "", outcome: "dropped", reason: "stale", count: 7 },
      { environment: "env_0", outcome: "submitted", reason: "", count: 5 },
      { environment: "env_2", outcome: "failed", reason: "timeout", count: 3 },
      { environment: "env_2", outcome: "failed", reason: "lost_too_often", count: 1 },
    ],
    cut: 0,
  });
});

test("what is beyond the limit is summed by outcome, so that totals are right", () => {
  const environments = Array.from({ length: MAX_OUTCOME_SERIES }, (_, id) => id);
  const counts = new Map(environments.map((id) => [id, { submitted: { "": 2 }, failed: { timeout: 1 } }]));
  const { series, cut } = outcomeCounts(counts, nameOf);
  expect(cut).toBe(MAX_OUTCOME_SERIES);
  expect(series).toHaveLength(MAX_OUTCOME_SERIES + 2);
  expect(series.slice(-2)).toEqual([
    { environment: "(others)", outcome: "submitted", reason: "", count: MAX_OUTCOME_SERIES },
    { environment: "(others)", outcome: "failed", reason: "", count: MAX_OUTCOME_SERIES / 2 },
  ]);
  const total = series.reduce((sum, { count }) => sum + count, 0);
  expect(total).toBe(3 * MAX_OUTCOME_SERIES);
});

test("environments that nobody knows any more do not make one series twice", () => {
  const counts = new Map([
    [-1, { dropped: { stale: 7 } }],
    [5, { dropped: { stale: 2 } }],
  ]);
  const { series } = outcomeCounts(counts, () => null);
  expect(series).toEqual([{ environment: "", outcome: "dropped", reason: "stale", count: 9 }]);
});
