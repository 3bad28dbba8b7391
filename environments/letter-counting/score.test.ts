import { describe, expect, test } from "vitest";
import { own } from "./config.ts";
import { promptOf } from "./prompt.ts";
import { isRight, parseCounts, scoreGroup } from "./score.ts";

const config = own.parse({});
const single = { text: "banana", letters: ["a"], counts: [3], level: 1 };
const several = { text: "banana", letters: ["a", "n", "x"], counts: [3, 2, 0], level: 9 };

describe("one letter", () => {
  test.each([
    { text: "<think>b-a-n-a-n-a</think><answer>3</answer>", right: true },
    { text: "<answer> 3 </answer>", right: true },
    { text: "<answer>3.0</answer>", right: true },
    { text: "<answer>4</answer>", right: false },
    { text: "<answer>3</answer><answer>3</answer>", right: false },
    { text: "<think><answer>3</answer></think>", right: false },
    { text: "<think><answer>3</answer>", right: false },
    { text: "3", right: false },
    { text: "\\boxed{3}", right: false },
    { text: "<answer>three</answer>", right: false },
    { text: '<answer>{"a": 3}</answer>', right: false },
    { text: "", right: false },
  ])("$text: $right", ({ text, right }) => {
    expect(isRight(single, text, config)).toBe(right);
  });

  test("may stand elsewhere when told so", () => {
    const elsewhere = own.parse({ sources: ["boxed", "number"] });
    expect(scoreGroup(single, [{ text: "\\boxed{3}" }, { text: "It is 3." }, { text: "It is 2." }], elsewhere)).toEqual(
      [1, 1, 0],
    );
  });
});

describe("several letters", () => {
  test.each([
    { answer: '{"a": 3, "n": 2, "x": 0}', right: true },
    { answer: '{"x":0,"n":2,"a":3}', right: true },
    { answer: "{'a': 3, 'n': 2, 'x': 0}", right: true },
    { answer: "a: 3, n: 2, x: 0", right: true },
    { answer: "A = 3, N = 2, X = 0", right: true },
    { answer: '{\n  "a": 3,\n  "n": 2,\n  "x": 0\n}', right: true },
    { answer: '{"a": 3, "n": 2, "x": 1}', right: false },
    { answer: '{"a": 3, "n": 2}', right: false },
    { answer: '{"a": 3, "n": 2, "x": 0, "b": 1}', right: false },
    { answer: '{"a": 3, "a": 2, "n": 2, "x": 0}', right: false },
    { answer: '{"a": 3, "n": 2, "x": 0} or so', right: false },
    { answer: '{"a": 3 "n": 2 "x": 0}', right: false },
    { answer: '{"a": -3, "n": 2, "x": 0}', right: false },
    { answer: '{"a": 3.5, "n": 2, "x": 0}', right: false },
    { answer: "5", right: false },
    { answer: "{}", right: false },
    { answer: "", right: false },
  ])("$answer: $right", ({ answer, right }) => {
    expect(isRight(several, `<think>…</think><answer>${answer}</answer>`, config)).toBe(right);
  });

  test("a box holds the same list", () => {
    expect(isRight(several, "\\boxed{a: 3, n: 2, x: 0}", own.parse({ sources: ["boxed"] }))).toBe(true);
    expect(isRight(several, '\\boxed{\\{"a": 3, "n": 2, "x": 0\\}}', own.parse({ sources: ["boxed"] }))).toBe(true);
  });

  test.each(["{".repeat(1_000_000), `${'"a": 1,'.repeat(100_000)}`, " ".repeat(399), '"a"'.repeat(133)])(
    "odd answers are none",
    (answer) => {
      expect(parseCounts(answer)).toBeNull();
    },
  );
});

describe("the prompt", () => {
  test.each([
    { item: single, sources: ["tag"] as const, says: ['"a"', '"banana"', "<answer>0</answer>"] },
    {
      item: several,
      sources: ["tag"] as const,
      says: ['"a", "n" and "x"', '<answer>{"a": 0, "n": 0, "x": 0}</answer>'],
    },
    { item: single, sources: ["boxed"] as const, says: ["\\boxed{0}"] },
    { item: several, sources: ["boxed"] as const, says: ['\\boxed{"a": 0, "n": 0, "x": 0}'] },
    { item: single, sources: ["number"] as const, says: ["End with the number."] },
  ])("$item.letters as $sources", ({ item, sources, says }) => {
    const messages = promptOf(item, { ...config, sources: [...sources] });
    expect(messages.map(({ role }) => role)).toEqual(["system", "user"]);
    for (const words of says) expect(messages[1]?.content).toContain(words);
  });

  test("an answer in the form asked for, with the right counts, is right", () => {
    const content = promptOf(several, config).at(-1)?.content;
    const form = typeof content === "string" ? (content.match(/<answer>.*<\/answer>/)?.[0] ?? "") : "";
    expect(isRight(several, form.replace('"a": 0', '"a": 3').replace('"n": 0', '"n": 2'), config)).toBe(true);
  });

  test("the system text may be replaced or left away", () => {
    expect(promptOf(single, { ...config, system_prompt: "Count." })[0]).toEqual({ role: "system", content: "Count." });
    expect(promptOf(single, { ...config, system_prompt: "" }).map(({ role }) => role)).toEqual(["user"]);
  });
});
