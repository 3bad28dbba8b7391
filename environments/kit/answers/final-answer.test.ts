import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { type AnswerOptions, finalAnswer } from "./final-answer.ts";

const tag: AnswerOptions = { sources: ["tag"] };
const any: AnswerOptions = { sources: ["boxed", "tag", "number"] };

describe("the default looks for a box, then for the final number", () => {
  test.each<[string, string | null]>([
    ["The answer is \\boxed{42}.", "42"],
    ["\\boxed{1} or rather \\boxed{2}", "2"],
    ["\\boxed{\\frac{3}{4}} of 100", "\\frac{3}{4}"],
    ["\\boxed{\\text{about } {1{,}234}}", "\\text{about } {1{,}234}"],
    ["\\boxed{\\boxed{5}}", "5"],
    ["\\boxed {5}", "5"],
    ["\\boxed{ 5 }", "5"],
    ["\\boxed{\\{5\\}}", "\\{5\\}"],
    ["{ \\boxed{5}", "5"],
    ["} \\boxed{5}", "5"],
    ["\\boxed{5} and \\boxed{6", "5"],
    ["\\boxed{seven} of 9", "seven"],
    ["\\boxed{}", ""],
    ["it is \\boxed{6", "6"],
    ["boxed{5} 6", "6"],
    ["So 3 + 2 = 5 apples.", "5"],
    ["#### 1,234", "1,234"],
    ["no number here", null],
    ["", null],
  ])("%j", (text, answer) => {
    expect(finalAnswer(text)).toBe(answer);
  });
});

describe("the thinking block", () => {
  test.each<[string, string | null, AnswerOptions?]>([
    ["<think>It is 5.</think> \\boxed{6}", "6"],
    ["<think>\\boxed{5}</think> Nothing.", null],
    ["<think>\\boxed{5}", null],
    ["5 <think> 6", null],
    ["It is 5.</think> The answer: 6", "6"],
    ["<think>1</think> 2 <think>3</think> 4", "4"],
    ["<think>1</think> 2 <think>3", null],
    ["it is 5", null, { thinkingOpened: true }],
    ["it is 5</think> 6", "6", { thinkingOpened: true }],
    ["</think>", null],
  ])("%j", (text, answer, options) => {
    expect(finalAnswer(text, options)).toBe(answer);
  });
});

describe("the answer tag", () => {
  test.each<[string, string | null, AnswerOptions?]>([
    ["<answer> 5 </answer>", "5"],
    ["<answer>Two\nlines</answer>", "Two\nlines"],
    ["<answer></answer>", ""],
    ["5", null],
    ["<answer>5</answer> <answer>5</answer>", null],
    ["<answer>1<answer>2</answer></answer>", null],
    ["<answer>5", null],
    ["5</answer>", null],
    ["</answer>5<answer>", null],
    ["<Answer>5</Answer>", null],
    ["<think><answer>4</answer></think><answer>5</answer>", "5"],
    ["<result>5</result>", "5", { sources: ["tag"], tag: "result" }],
    ["<answer>5</answer>, not 6", "5", any],
    ["<answer>5</answer> \\boxed{6}", "6", any],
    ["<answer>5</answer> \\boxed{6}", "5", { sources: ["tag", "boxed"] }],
    ["<answer>5</answer><answer>6</answer> \\boxed{6}", null, { sources: ["tag", "boxed"] }],
    ["no tag, but 7", "7", any],
    ["no tag, but 7", null, { sources: ["boxed", "tag"] }],
    ["7", null, { sources: [] }],
  ])("%j", (text, answer, options = tag) => {
    expect(finalAnswer(text, options)).toBe(answer);
  });
});

describe("the final number", () => {
  test.each<[string, string | null]>([
    ["5 then 10 dollars.", "10"],
    ["It costs $1,234.50.", "$1,234.50"],
    ["a loss of -5", "-5"],
    ["a loss of -$5.", "-$5"],
    ["a loss of \\$5", "\\$5"],
    ["5-3", "3"],
    ["5 - 3", "3"],
    ["x-3", "3"],
    ["- 12 apples", "12"],
    ["years 2020-2021", "2021"],
    ["12 apples, 7 pears", "7"],
    ["1,2,3", "3"],
    ["1,234,567 people", "1,234,567"],
    ["1{,}234", "1,234"],
    ["half, i.e. .5", ".5"],
    ["0.75", "0.75"],
    ["it is 3/4", "3/4"],
    ["it is 2 1/2 hours", "2 1/2"],
    ["it is \\frac{3}{4}", "\\frac{3}{4}"],
    ["it is 1e3", "1e3"],
    ["it is 3 \\times 10^{4} m", "3 \\times 10^{4}"],
    ["it is 3 million.", "3 million"],
    ["50% off", "50"],
    ["see x2", null],
    ["**7**", "7"],
    ["7\u0000", "7"],
  ])("%j", (text, answer) => {
    expect(finalAnswer(text, { sources: ["number"] })).toBe(answer);
  });
});

describe("odd output", () => {
  const megabyte = (piece: string) => piece.repeat(Math.ceil(1_000_000 / piece.length));

  test.each<[string, string | null]>([
    ["\\boxed{", null],
    ["\\boxed{5}", "5"],
    ["{", null],
    ["}", null],
    ["\\", null],
    ["<answer>", null],
    ["</think>", null],
    ["<think>", null],
    ["- ", null],
    ["1", "1".repeat(1_000_000)],
    ["1,111", null],
    ["1/", null],
    ["1 ", null],
    ["$", null],
    ["\\frac{1}", null],
    [".", null],
  ])("a megabyte of %j", (piece, answer) => {
    // Quadratic work would take minutes, beyond the time that a test has.
    const found = finalAnswer(megabyte(piece), any);
    if (answer !== null) expect(found).toBe(answer);
  });

  test("a megabyte of nested boxes", () => {
    expect(finalAnswer(`${"\\boxed{".repeat(150_000)}5${"}".repeat(150_000)}`)).toBe("5");
  });

  test("anything may come in, and a box at the end is found whatever came before", () => {
    const pieces = fc.constantFrom(
      "\\boxed{",
      "{",
      "}",
      "\\{",
      "<think>",
      "</think>",
      "<answer>",
      "</answer>",
      "5",
      "\\",
      "a",
    );
    const texts = fc.array(pieces, { maxLength: 40 }).map((list) => list.join(""));
    fc.assert(
      fc.property(fc.oneof(texts, fc.string()), (text) => {
        const found = finalAnswer(text, any);
        expect(found === null || typeof found === "string").toBe(true);
        expect(finalAnswer(`${text} </think> \\boxed{17}`, any)).toBe("17");
      }),
      { numRuns: 2_000 },
    );
  });
});
