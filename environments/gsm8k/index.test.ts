import { expect, test } from "vitest";
import { trial } from "../kit/testing.ts";
import { environment } from "./environment.ts";
import { itemAt } from "./items.ts";

const { config } = environment.readConfig({});
const [first] = [itemAt(0, config)];

test("a group is generated, scored and handed in", async () => {
  const { groups, ends, server } = await trial(environment, {
    answer: ({ index }) => (index % 2 === 0 ? `\\boxed{${first.value}} is the answer` : "no idea at all"),
  });
  expect(ends).toEqual(["submitted"]);
  expect(groups.map(({ scores }) => scores)).toEqual([[1, -1, 1, -1, 1, -1, 1, -1]]);
  expect(groups[0]?.tokens.map((tokens) => tokens.slice(-3))).toEqual(
    server.sampled.map(({ tokens }) => tokens.slice(-3)),
  );
});

test.each([
  { name: "all wrong", answer: "I would rather not say", end: "skipped: equal_scores" },
  { name: "all right and short", answer: `I say \\boxed{${first.value}}`, end: "skipped: equal_scores" },
  { name: "too short", answer: "7", end: "skipped: too_few_trained_tokens" },
])("a group that is $name is dropped: $end", async ({ answer, end }) => {
  expect((await trial(environment, { answer: () => answer })).ends).toEqual([end]);
});

test("a tiny policy's answers fit into eight tokens", async () => {
  const value = itemAt(0, environment.readConfig({ preset: "tiny" }).config).value;
  const { groups, ends } = await trial(environment, {
    preset: "tiny",
    config: { max_token_length: 128 },
    answer: ({ index }) => (index === 0 ? `${value}` : "0"),
  });
  expect(ends).toEqual(["submitted"]);
  expect(groups[0]?.scores).toEqual([1, -1, -1, -1, -1, -1, -1, -1]);
});

test("an evaluation tells the accuracy on held-out items", async () => {
  const { leases } = await trial(environment, {
    evaluate: true,
    config: { eval_items: 4 },
    answer: () => "\\boxed{5}",
  });
  expect(leases[0]).toMatchObject({ outcome: "evaluated", metrics: { items: 4, truncated: 0 } });
  expect(leases[0]?.metrics["accuracy"]).toBeLessThan(1);
});

test("reward functions may take the place of the score", async () => {
  const { groups } = await trial(environment, {
    config: { reward: { name: "combined", rewards: ["accuracy", { name: "format", weight: 0.5, tags: ["think"] }] } },
    answer: ({ index }) =>
      `${index < 2 ? "<think>easy enough</think>" : ""} \\boxed{${index === 0 ? first.value : 0}} it is`,
  });
  expect(groups[0]?.scores.slice(0, 3)).toEqual([1.5, 0.5, 0]);
});

test("a reward function that isn't there is told", () => {
  expect(() => environment.readConfig({ config: '{"reward":"acuracy"}' })).toThrow(
    /CONFIG: reward\.name is .*no reward function is called "acuracy"; there are accuracy/,
  );
});
