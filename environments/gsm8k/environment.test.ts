import { describe, expect, test } from "vitest";
import { baseConfig } from "../kit/base-config.ts";
import { own, presets } from "./config.ts";
import { evaluationItemAt, itemAt } from "./items.ts";
import { parseItems } from "./jsonl.ts";
import { promptOf } from "./prompt.ts";

const config = { ...own.parse({}), seed: 0 };
const tiny = { ...config, difficulty: "tiny" as const };
const text = [
  '{"question":"Q0?","answer":"3 + 2 = <<3+2=5>>5\\n#### 5"}',
  '{"question":"Q1?","answer":"#### 1,234"}',
  '{"question":"Q2?","answer":"#### -7"}',
].join("\n");

describe("settings", () => {
  test("defaults are the stock ones", () => {
    expect(own.parse({})).toMatchObject({
      max_tokens: 2048,
      source: "generated",
      difficulty: "grade_school",
      length_penalty_from: 0.5,
      filters: { min_trained_tokens: 10, keep_equal_scores: false },
    });
    expect(own.parse({ filters: { keep_equal_scores: true } }).filters.min_trained_tokens).toBe(10);
  });

  test("every preset fits, together with the settings all environments have", () => {
    const schema = baseConfig.extend(own.shape);
    for (const preset of Object.values(presets)) expect(schema.parse(preset)).toMatchObject(preset);
  });

  test.each([
    { settings: { steps: [3, 2] }, message: "least number of steps first" },
    { settings: { source: "train.jsonl" }, message: "address of a JSONL file" },
    { settings: { largest_number: 5 }, message: "largest_number" },
    { settings: { difficult: "tiny" }, message: "difficult" },
  ])("$settings is refused", ({ settings, message }) => {
    expect(() => own.parse(settings)).toThrow(message);
  });
});

describe("rows", () => {
  test("are GSM8K's", () => {
    expect(parseItems(text, "train.jsonl").map(({ question, value }) => [question, value])).toEqual([
      ["Q0?", 5],
      ["Q1?", 1234],
      ["Q2?", -7],
    ]);
  });

  test.each([
    { row: '{"question":"Q?","answer":"5"}', message: 'line 4: answer is "5": must end in "#### " and a number' },
    { row: '{"question":"Q?","answer":"#### five"}', message: "line 4: answer is" },
    { row: '{"question":"Q?"}', message: "line 4: answer is missing" },
    { row: '{"answer":"#### 5"}', message: "line 4: question is missing" },
  ])("$row is refused", ({ row, message }) => {
    expect(() => parseItems(`${text}\n${row}`, "train.jsonl")).toThrow(message);
  });

  test("are drawn once an epoch, each epoch in another order", () => {
    const rows = parseItems(text, "train.jsonl");
    const epochs = Array.from({ length: 30 }, (_, epoch) =>
      [0, 1, 2].map((i) => itemAt(3 * epoch + i, config, rows).question),
    );
    for (const epoch of epochs) expect(epoch.toSorted()).toEqual(["Q0?", "Q1?", "Q2?"]);
    expect(new Set(epochs.map((epoch) => epoch.join())).size).toBe(6);
  });

  test("are evaluated in their order", () => {
    const rows = parseItems(text, "test.jsonl");
    expect([0, 1, 2, 3].map((i) => evaluationItemAt(i, config, rows).value)).toEqual([5, 1234, -7, 5]);
    expect(() => evaluationItemAt(0, config, [])).toThrow("0 rows");
  });
});

test("generated items of evaluation and training differ", () => {
  expect(evaluationItemAt(0, config)).not.toEqual(itemAt(0, config));
  expect(itemAt(7, config)).toEqual(itemAt(7, config));
});

describe("the prompt", () => {
  const item = { question: "How many?", answer: "#### 5", value: 5 };
  test.each([
    {
      name: "says how to answer, and the budget",
      given: config,
      roles: ["system", "user"],
      says: /2048[\s\S]*\\boxed/,
    },
    { name: "of a tiny model is the question", given: tiny, roles: ["user"], says: /^How many\?$/ },
    { name: "may be replaced", given: { ...tiny, system_prompt: "Sum." }, roles: ["system", "user"], says: /^Sum\.$/ },
    { name: "may be left away", given: { ...config, system_prompt: "" }, roles: ["user"], says: /^How many\?$/ },
  ])("$name", ({ given, roles, says }) => {
    const messages = promptOf(item, given);
    expect(messages.map(({ role }) => role)).toEqual(roles);
    expect(messages[0]?.content).toMatch(says);
    expect(messages.at(-1)?.content).toBe("How many?");
  });
});
