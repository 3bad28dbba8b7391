import { describe, expect, test } from "vitest";
import { dropReason, type FilteredGroup, sequenceDropReasons, trainedTokens } from "./filters.ts";

const options = { group_size: 2, max_token_length: 5 };
const good: FilteredGroup = {
  tokens: [
    [1, 2, 3],
    [1, 2, 3, 4],
  ],
  masks: [
    [-100, 2, 3],
    [-100, 2, 3, 4],
  ],
  scores: [1, -1],
  inference_logprobs: [
    [1, -0.1, -0.2],
    [1, -0.1, -0.2, -0.3],
  ],
};
const long = [1, 2, 3, 4, 5];

describe("a group", () => {
  test.each([
    { name: "is kept", group: good, reason: null },
    { name: "without logprobs is kept", group: { ...good, inference_logprobs: null }, reason: null },
    { name: "of another size", group: good, options: { ...options, group_size: 3 }, reason: "wrong_token_count" },
    { name: "of no sequences", group: { tokens: [], masks: [], scores: [] }, reason: "wrong_token_count" },
    {
      name: "with a mask too short",
      group: {
        ...good,
        masks: [
          [-100, 2],
          [1, 2, 3, 4],
        ],
      },
      reason: "wrong_token_count",
    },
    { name: "with a mask too few", group: { ...good, masks: [[-100, 2, 3]] }, reason: "wrong_token_count" },
    { name: "with a score too many", group: { ...good, scores: [1, 2, 3] }, reason: "wrong_token_count" },
    {
      name: "with logprobs too long",
      group: { ...good, inference_logprobs: [long, long] },
      reason: "wrong_token_count",
    },
    { name: "with logprobs for one", group: { ...good, inference_logprobs: [[1, 2, 3]] }, reason: "wrong_token_count" },
    { name: "with equal scores", group: { ...good, scores: [0.5, 0.5] }, reason: "equal_scores" },
    {
      name: "with equal scores that are wanted",
      group: { ...good, scores: [0.5, 0.5] },
      options: { ...options, keep_equal_scores: true },
      reason: null,
    },
    { name: "that reaches the maximum", group: good, options: { ...options, max_token_length: 4 }, reason: "too_long" },
    {
      name: "that reaches the maximum and may",
      group: good,
      options: { ...options, max_token_length: 4, keep_longest: true },
      reason: null,
    },
    {
      name: "of one",
      group: { tokens: [[1]], masks: [[1]], scores: [1] },
      options: { ...options, group_size: 1 },
      reason: "equal_scores",
    },
  ])("$name: $reason", ({ group, options: given = options, reason }) => {
    expect(dropReason(group, given)).toBe(reason);
  });
});

describe("a sequence", () => {
  test.each([
    { mask: [], trained: 0 },
    { mask: [-100, -100], trained: 0 },
    { mask: [-100, 0, 7], trained: 2 },
  ])("$mask trains $trained tokens", ({ mask, trained }) => {
    expect(trainedTokens(mask)).toBe(trained);
  });

  test("is dropped below the least number of trained tokens", () => {
    expect(sequenceDropReasons(good, 3)).toEqual(["too_few_trained_tokens", null]);
    expect(sequenceDropReasons(good, 2)).toEqual([null, null]);
  });
});
