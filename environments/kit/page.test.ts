import { expect, test } from "vitest";
import { z } from "zod";
import { dataset, jsonlFromUrl } from "./dataset.ts";
import { defineEnvironment } from "./define.ts";
import type { Tool } from "./inference/index.ts";
import { hermesToolCalls } from "./trajectory/index.ts";

/** The examples of docs/ENVIRONMENTS.md: the type check is the test. */

const sums = defineEnvironment({
  name: "sums",
  config: z.object({ largest: z.int().default(9).describe("largest number"), start_level: z.int().default(1) }),
  items: (_index, { random, config }) => ({ a: random.int(0, config.largest), b: random.int(0, config.largest) }),
  prompt: ({ a, b }) => [{ role: "user", content: `${a} + ${b} =` }],
  score: ({ item, rollouts }) => rollouts.map(({ text }) => (Number(text) === item.a + item.b ? 1 : -1)),
  state: {
    schema: z.object({ level: z.int() }),
    initial: (config) => ({ level: config.start_level }),
    reduce: (state, { scores }) => ({ level: state.level + (mean(scores) > 0.8 ? 1 : 0) }),
  },
  evaluate: async ({ items, run }) => {
    const rollouts = await run(items);
    return { accuracy: rollouts.filter(({ score }) => score === 1).length / rollouts.length };
  },
});

const row = z.object({ question: z.string(), answer: z.string() });
const url = z.url().default("https://data.test/train.jsonl");

const rows = defineEnvironment({
  name: "rows",
  config: z.object({ url, test_url: url }),
  item: row,
  items: dataset({
    load: ({ config, signal }) => jsonlFromUrl(config.url, row, signal),
    heldOut: ({ config, signal }) => jsonlFromUrl(config.test_url, row, signal),
    item: ({ question, answer }) => ({ question, answer }),
  }),
  prompt: ({ question }) => [{ role: "user", content: question }],
  score: ({ item, rollouts }) => rollouts.map(({ text }) => (text === item.answer ? 1 : -1)),
});

const TOOLS: readonly Tool[] = [];
const runTool = (call: object) => JSON.stringify(call);

const turns = defineEnvironment({
  name: "turns",
  config: z.object({ turns: z.int().default(3), url, test_url: url }),
  item: row,
  items: dataset({
    load: ({ config, signal }) => jsonlFromUrl(config.url, row, signal),
    item: ({ question, answer }) => ({ question, answer }),
  }),
  rollout: async ({ item, policy, config }) => {
    const messages = [{ role: "user" as const, content: item.question }];
    const trajectory = policy.trajectory({ messages, tools: TOOLS, parseToolCalls: hermesToolCalls });
    for (let turn = 0; turn < config.turns; turn++) {
      const { message } = await trajectory.turn(policy.sampling);
      const calls = message.tool_calls ?? [];
      if (calls.length === 0) break;
      for (const call of calls) {
        trajectory.addMessage({ role: "tool", tool_call_id: call.id, content: runTool(call) });
      }
    }
    return { ...trajectory.rollout(), won: true };
  },
  score: ({ item, rollouts }) => rollouts.map(({ won, text }) => (won && text === item.answer ? 1 : -1)),
});

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

test("the page's examples are environments", () => {
  expect([sums, rows, turns].map(({ name }) => name)).toEqual(["sums", "rows", "turns"]);
});
