import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { reward } from "./index.ts";

const right = "<think>3 + 2</think><answer>5</answer>";
const wrong = "<think>3 + 2</think><answer>6</answer>";
const bare = "It is \\boxed{5}.";

function scores(spec: unknown, texts: readonly string[], answer: string | number | null = 5, tokens = 10) {
  return reward(spec)({ completions: texts.map((text) => ({ text, tokens })), answer });
}

describe("accuracy", () => {
  test.each([
    { text: right, score: 1 },
    { text: wrong, score: 0 },
    { text: bare, score: 1 },
    { text: "5", score: 0 },
    { text: "<think>\\boxed{5}", score: 0 },
    { text: "<think>\\boxed{5}</think>", score: 0 },
    { text: "\\boxed{5.0000001}", score: 1 },
    { text: "\\boxed{5.001}", score: 0 },
    { text: "", score: 0 },
  ])("$text scores $score", ({ text, score }) => {
    expect(scores("accuracy", [text])).toEqual([score]);
  });

  test.each([
    { parameters: { tolerance: 0.01 }, text: "\\boxed{5.001}", answer: 5, score: 1 },
    { parameters: { sources: ["number"] }, text: "it is 5", answer: 5, score: 1 },
    { parameters: { answer_tag: "result" }, text: "<result>5</result>", answer: 5, score: 1 },
    { parameters: { thinking_opened: true }, text: "\\boxed{5}", answer: 5, score: 0 },
    { parameters: {}, text: bare, answer: "3 + 2 = 5\n#### 5", score: 1 },
    { parameters: {}, text: "\\boxed{blue}", answer: "Blue", score: 1 },
  ])("$parameters: $text scores $score", ({ parameters, text, answer, score }) => {
    expect(scores({ name: "accuracy", ...parameters }, [text], answer)).toEqual([score]);
  });
});

describe("format", () => {
  test.each([
    { parameters: {}, text: right, score: 1 },
    { parameters: {}, text: wrong, score: 1 },
    { parameters: {}, text: "<THINK>a</THINK><Answer>b</Answer>", score: 1 },
    { parameters: { case_sensitive: true }, text: "<THINK>a</THINK><Answer>b</Answer>", score: 0 },
    { parameters: {}, text: "<answer>5</answer>", score: 0 },
    { parameters: { require_all: false }, text: "<answer>5</answer>", score: 1 },
    { parameters: { require_all: false }, text: "5", score: 0 },
    { parameters: {}, text: "</think>a<think></answer>b<answer>", score: 0 },
    { parameters: {}, text: "a</think><answer>5</answer>", score: 0 },
    { parameters: { prefix: "<think>" }, text: "a</think><answer>5</answer>", score: 1 },
    { parameters: { tags: ["plan"] }, text: "<plan>a</plan>", score: 1 },
  ])("$parameters: $text scores $score", ({ parameters, text, score }) => {
    expect(scores({ name: "format", ...parameters }, [text])).toEqual([score]);
  });
});

describe("reasoning-steps", () => {
  const filler = "we look at the numbers that the task gives us and add";

  test.each([
    { text: `Step 1: ${filler}.\nStep 2: ${filler}.\nStep 3: ${filler}.`, score: 1 },
    { text: `First, ${filler}. Then ${filler}. Finally, ${filler}.`, score: 1 },
    { text: `1. ${filler}\n2. ${filler}\n3) ${filler}\n4) ${filler}`, score: 1 },
    { text: `- ${filler}\n- ${filler}`, score: 2 / 3 },
    { text: `<think>First, ${filler}.</think>`, score: 1 / 3 },
    { text: filler, score: 0 },
    { text: "First. Then. Finally.", score: 0 },
    { text: "", score: 0 },
  ])("$text", ({ text, score }) => {
    expect(scores("reasoning-steps", [text])[0]).toBeCloseTo(score, 12);
  });

  test("both limits are parameters", () => {
    expect(scores({ name: "reasoning-steps", min_words: 2, min_steps: 6 }, ["First a. Then b. Finally c."])).toEqual([
      0.5,
    ]);
  });
});

describe("repetition-penalty", () => {
  test.each([
    { text: "a b c d e", score: 0 },
    { text: "a b", score: 0 },
    { text: "", score: 0 },
    { text: "a b c a b c", score: -0.25 },
    { text: "A b c a B C", score: -0.25 },
    { text: "a a a a a a", score: -0.75 },
  ])("$text", ({ text, score }) => {
    expect(scores("repetition-penalty", [text])).toEqual([score]);
  });

  test("a loop approaches the largest penalty", () => {
    const [score] = scores({ name: "repetition-penalty", max_penalty: -2 }, ["over and over ".repeat(10_000)]);
    expect(score).toBeLessThan(-1.99);
    expect(score).toBeGreaterThanOrEqual(-2);
  });

  test("the run's length is a parameter", () => {
    expect(scores({ name: "repetition-penalty", ngram_size: 1 }, ["a b a b"])).toEqual([-0.5]);
  });
});

describe("cosine-length", () => {
  const spec = { name: "cosine-length", max_tokens: 100 };

  test.each([
    { text: bare, tokens: 0, score: 1 },
    { text: bare, tokens: 50, score: 0.75 },
    { text: bare, tokens: 100, score: 0.5 },
    { text: bare, tokens: 500, score: 0.5 },
    { text: wrong, tokens: 0, score: -1 },
    { text: wrong, tokens: 50, score: -0.75 },
    { text: wrong, tokens: 100, score: -0.5 },
    { text: bare, tokens: 25, score: 0.5 + 0.5 * ((1 + Math.SQRT1_2) / 2) },
  ])("$text of $tokens tokens scores $score", ({ text, tokens, score }) => {
    expect(scores(spec, [text], 5, tokens)[0]).toBeCloseTo(score, 12);
  });

  test("the group's budget is taken when the spec has none, and none at all is an error", () => {
    const group = { completions: [{ text: bare, tokens: 50 }], answer: 5 };
    expect(reward("cosine-length")({ ...group, maxTokens: 50 })[0]).toBeCloseTo(0.5, 12);
    expect(() => reward("cosine-length")(group)).toThrow("no token budget; set max_tokens");
  });
});

describe("r1 and cascading", () => {
  const misformed = "<answer>5</answer>";
  test.each([
    { name: "r1", scores: [1.5, 0.5, 1, 0] },
    { name: "cascading", scores: [1.5, 0, 1, 0] },
  ])("$name scores right, wrong, right but misformed, neither", ({ name, scores: expected }) => {
    expect(scores(name, [right, wrong, misformed, "6"])).toEqual(expected);
  });

  test("their weights are parameters", () => {
    expect(scores({ name: "r1", accuracy_weight: 2, format_weight: 0.25 }, [right, wrong])).toEqual([2.25, 0.25]);
    expect(scores({ name: "cascading", format_bonus: 1 }, [right, wrong])).toEqual([2, 0]);
  });
});

test("odd output is scored like any other, within bounds", () => {
  const pieces = fc.constantFrom(
    "\\boxed{",
    "}",
    "<think>",
    "</think>",
    "<answer>",
    "</answer>",
    "5",
    " ",
    "step 1",
    "\n",
  );
  const texts = fc.oneof(
    fc.string(),
    fc.array(pieces).map((list) => list.join("")),
  );
  const bounds = {
    accuracy: [0, 1],
    format: [0, 1],
    "reasoning-steps": [0, 1],
    "repetition-penalty": [-1, 0],
    "cosine-length": [-1, 1],
    r1: [0, 1.5],
    cascading: [0, 1.5],
  };
  fc.assert(
    fc.property(fc.array(texts, { maxLength: 4 }), fc.nat(200), (list, tokens) => {
      for (const [name, [least = 0, most = 0]] of Object.entries(bounds)) {
        const spec = name === "cosine-length" ? { name, max_tokens: 100 } : name;
        const found = scores(spec, list, 5, tokens);
        expect(found).toHaveLength(list.length);
        expect(found.every((score) => score >= least && score <= most)).toBe(true);
      }
    }),
    { numRuns: 500 },
  );
});
