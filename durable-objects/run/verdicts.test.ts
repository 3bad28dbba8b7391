import { expect, test } from "vitest";
import type { Verdict } from "../payloads.ts";
import { readCommitVerdicts, readVerdicts, writeCommitVerdicts, writeVerdicts } from "./verdicts.ts";

const MANY = 65_536;

const full: Verdict = {
  status: "queue_full",
  message: "with this request the run would hold 1000001 sequences of at most 1000000",
};

test.each<[string, (group: number) => Verdict]>([
  ["buffered", (group) => ({ status: "buffered", bufferedSequences: group + 1 })],
  ["buffered, before", (group) => ({ status: "buffered", bufferedSequences: group + 1, repeated: true })],
  ["filtered", (group) => ({ status: "filtered", reason: ["equal_scores", "mean_score_too_high"][group % 2] ?? "" })],
  ["queue_full", () => full],
  [
    "larger_than_batch",
    (group) => ({ status: "larger_than_batch", sequences: 60_000 + (group % 4_096), batchSize: 8 }),
  ],
])("verdicts of the longest list are stored in a row that production takes: %s", (_what, verdictOf) => {
  const verdicts = Array.from({ length: MANY }, (_, group) => verdictOf(group));
  const text = writeVerdicts(verdicts);
  expect(text.length).toBeLessThan(2_000_000);
  expect(readVerdicts(text)).toEqual(verdicts);
});

test("verdicts of several requests are read as they were stored, and as earlier releases stored them", () => {
  const answers: Verdict[][] = [[{ status: "received" }, full], [], [full, { status: "received", repeated: true }]];
  expect(readCommitVerdicts(writeCommitVerdicts(answers))).toEqual(answers);
  expect(readCommitVerdicts(JSON.stringify(answers))).toEqual(answers);
  expect(readVerdicts(JSON.stringify(answers[2]))).toEqual(answers[2]);
});
