import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { environmentWorker } from "./index.ts";
import { messageOfLease } from "./testing.ts";
import { halfRight, setUp } from "./testing-consumer.ts";

describe("filters", () => {
  test.each([
    { reason: "equal_scores", answer: "?", config: {} },
    { reason: "too_long", answer: "0", config: { max_tokens: 2, max_token_length: 5 } },
    { reason: "too_few_trained_tokens", answer: "0", config: { filters: { min_trained_tokens: 3 } } },
    { reason: "wrong_token_count", answer: "mixed", config: { filters: { min_trained_tokens: 3 } } },
    {
      reason: null,
      answer: "mixed",
      config: { filters: { min_trained_tokens: 3, keep_partial: true, keep_equal_scores: true } },
    },
  ])("a group may be dropped for $reason, which is counted", async ({ reason, answer, config }) => {
    const { run, deliver } = setUp(
      {
        answer: ({ index }) =>
          answer === "mixed" ? (["0", "a longer one"][index % 2] ?? "") : index === 0 ? answer : "?",
      },
      config,
    );
    await deliver(messageOfLease(run.open()));
    expect(run.lease(1)).toMatchObject({ outcome: reason === null ? "submitted" : "skipped", reason });
    expect(run.state.state).toMatchObject({ groups: 1 });
  });
});

describe("a sequence", () => {
  // Four tokens of prompt, then the answer and its end.
  test.each([
    { trainer: -1, own: 2_048, reason: null },
    { trainer: 2_048, own: 2_048, reason: null },
    { trainer: 6, own: 2_048, reason: "too_long" },
    { trainer: 2_048, own: 6, reason: "too_long" },
    { trainer: 7, own: 8, reason: null },
  ])("is too long ($reason) for the trainer's $trainer tokens or the environment's $own", async (limits) => {
    const { run, deliver } = setUp(halfRight, { max_token_length: limits.own });
    run.maxTokenLen = limits.trainer;
    await deliver(messageOfLease(run.open()), messageOfLease(run.open()));
    for (const { outcome, reason } of run.leases.values()) {
      expect([outcome, reason]).toEqual([limits.reason === null ? "submitted" : "skipped", limits.reason]);
    }
    expect(run.requests.filter((request) => request === "GET /info")).toHaveLength(1);
  });
});

describe("the rollouts of a group", () => {
  test.each([
    { made: 4, groups: false, config: {}, reason: null },
    { made: 3, groups: false, config: {}, reason: "wrong_token_count" },
    { made: 5, groups: false, config: {}, reason: "wrong_token_count" },
    { made: 3, groups: false, config: { filters: { keep_partial: true } }, reason: null },
    { made: 5, groups: false, config: { filters: { keep_partial: true } }, reason: "wrong_token_count" },
    { made: 3, groups: true, config: {}, reason: null },
    { made: 5, groups: true, config: {}, reason: null },
  ])("are $made of 4, as groups of any size: $groups, with $config: $reason", async (given) => {
    const { made, groups, config, reason } = given;
    const sized = defineEnvironment({
      name: "sized",
      config: z.object({ group_size: z.int().default(4), lease_sequences: z.int().default(10) }),
      items: (index) => index,
      rollouts: async ({ policy }) => {
        const rollouts = await policy.sample([{ role: "user", content: "?" }], made);
        return groups ? { groups: [rollouts] } : rollouts;
      },
      score: ({ rollouts }) => rollouts.map((_, index) => index),
    });
    const { run, deliver } = setUp({}, config, (platform) => environmentWorker(sized, platform));
    await deliver(messageOfLease(run.open()));
    expect(run.lease(1)).toMatchObject({ outcome: reason === null ? "submitted" : "skipped", reason });
  });
});
