import { describe, expect, test } from "vitest";
import type { Completion } from "../kit/completion.ts";
import { own, presets } from "./config.ts";
import { isRight, scoreGroup } from "./score.ts";

const config = own.parse({ max_tokens: 100 });
const item = { question: "?", answer: "#### 1,250", value: 1250 };

function completion(text: string, tokens = 20, trainedTokens = tokens): Completion {
  return { text, tokens, trainedTokens, truncated: false };
}

describe("an answer", () => {
  test.each([
    { text: "<think>1000 + 250</think>\\boxed{1250}", right: true },
    { text: "\\boxed{1,250}", right: true },
    { text: "\\boxed{\\$1250.00}", right: true },
    { text: "\\boxed{1250 dollars}", right: true },
    { text: "<think>...</think> The answer is 1250.", right: true },
    { text: "1250", right: true },
    { text: "<think>\\boxed{1250}</think>", right: false },
    { text: "<think>\\boxed{1250}", right: false },
    { text: "\\boxed{1250} \\boxed{1}", right: false },
    { text: "\\boxed{none} 1250", right: false },
    { text: "1250 or 1251", right: false },
    { text: "\\boxed{1251}", right: false },
    { text: "", right: false },
  ])("$text is right: $right", ({ text, right }) => {
    expect(isRight(item, text, config)).toBe(right);
  });

  test("may stand elsewhere when told so", () => {
    const tag = own.parse({ sources: ["tag"] });
    expect(isRight(item, "<answer>1250</answer>", tag)).toBe(true);
    expect(isRight(item, "\\boxed{1250}", tag)).toBe(false);
  });

  test("needs the end of a thinking block that the prompt opened", () => {
    const opened = own.parse({ thinking_opened: true });
    expect(isRight(item, "1000 + 250 = 1250", opened)).toBe(false);
    expect(isRight(item, "1000 + 250</think> 1250", opened)).toBe(true);
  });
});

describe("a group", () => {
  const yes = "\\boxed{1250}";
  const no = "\\boxed{5}";
  test.each([
    { name: "none right", completions: [completion(no), completion(no)], scores: [-1, -1] },
    { name: "some right: length doesn't count", completions: [completion(yes, 100), completion(no)], scores: [1, -1] },
    { name: "all right and short", completions: [completion(yes, 10), completion(yes, 50)], scores: [1, 1] },
    {
      name: "all right: linear from half the budget to the whole",
      completions: [
        completion(yes, 50),
        completion(yes, 75),
        completion(yes, 90),
        completion(yes, 100),
        completion(yes, 120),
      ],
      scores: [1, 0.5, 0.2, 0, 0],
    },
    { name: "one rollout", completions: [completion(yes, 75)], scores: [0.5] },
    {
      name: "a wrong one that will be dropped doesn't decide",
      completions: [completion(no, 9), completion(yes, 75)],
      scores: [-1, 0.5],
    },
    {
      name: "trained tokens decide on that, not sampled ones",
      completions: [completion(no, 50, 9), completion(yes, 75)],
      scores: [-1, 0.5],
    },
    { name: "all will be dropped", completions: [completion(yes, 9), completion(yes, 9)], scores: [1, 1] },
    { name: "no rollouts", completions: [], scores: [] },
  ])("$name", ({ completions, scores }) => {
    const found = scoreGroup(item, completions, config);
    expect(found).toHaveLength(scores.length);
    for (const [i, score] of scores.entries()) expect(found[i]).toBeCloseTo(score, 12);
  });

  test("a tiny model's answers of few tokens decide, with the preset", () => {
    const { max_token_length: _, ...tiny } = presets.tiny;
    expect(scoreGroup(item, [completion(no, 2), completion(yes, 6)], own.parse(tiny))).toEqual([-1, 1]);
  });

  test("where the penalty starts is a setting", () => {
    const early = own.parse({ max_tokens: 100, length_penalty_from: 0 });
    expect(scoreGroup(item, [completion(yes, 25), completion(yes, 75)], early)).toEqual([0.75, 0.25]);
  });
});
