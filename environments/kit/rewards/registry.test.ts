import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineGroupReward, defineReward, RewardError, register, reward, rewardNames } from "./index.ts";

const right = "<think>3 + 2</think><answer>5</answer>";
const wrong = "<think>3 + 2</think><answer>6</answer>";
const bare = "It is \\boxed{5}.";

function scores(spec: unknown, texts: readonly string[], answer: string | number | null = 5, tokens = 10) {
  return reward(spec)({ completions: texts.map((text) => ({ text, tokens })), answer });
}

describe("combined", () => {
  const rewards = [
    { name: "accuracy", weight: 3 },
    { name: "format", weight: 0.5 },
  ];

  test.each([
    { normalization: "none", expected: [3.5, 0.5, 3, 0] },
    { normalization: "sum", expected: [1, 0.5 / 3.5, 3 / 3.5, 0] },
    { normalization: "min-max", expected: [1, 0.5 / 3.5, 3 / 3.5, 0] },
  ])("$normalization honours the parts' weights", ({ normalization, expected }) => {
    const found = scores({ name: "combined", rewards, normalization }, [right, wrong, bare, ""]);
    for (const [i, score] of expected.entries()) expect(found[i]).toBeCloseTo(score, 12);
  });

  test("min-max works on the group, and leaves equal scores alone", () => {
    const spec = { name: "combined", rewards: [...rewards, "accuracy"], normalization: "min-max", weight: 2 };
    expect(scores(spec, [right, wrong])).toEqual([2, 0]);
    expect(scores(spec, [right, right])).toEqual([9, 9]);
    expect(scores(spec, [])).toEqual([]);
  });

  test("it nests", () => {
    const spec = { name: "combined", rewards: [{ name: "combined", weight: 2, rewards }, "format"] };
    expect(scores(spec, [right, wrong])).toEqual([8, 2]);
  });
});

describe("specs", () => {
  test("the weight scales every score", () => {
    expect(scores({ name: "accuracy", weight: -2 }, [right])).toEqual([-2]);
  });

  test("every name of the catalogue builds, with its defaults", () => {
    for (const name of [
      "accuracy",
      "format",
      "reasoning-steps",
      "repetition-penalty",
      "cosine-length",
      "r1",
      "cascading",
    ]) {
      expect(reward({ name })({ completions: [{ text: right, tokens: 5 }], answer: 5, maxTokens: 50 })).toHaveLength(1);
    }
  });

  test.each([
    {
      spec: "accurcy",
      message: /no reward function is called \\?"accurcy\\?"; there are accuracy, format, .*combined/,
    },
    {
      spec: { name: "accuracy", tolerance: -1 },
      message: /accuracy: .*>=0[\s\S]*tolerance|tolerance[\s\S]*accuracy: /,
    },
    { spec: { name: "accuracy", tolerence: 1 }, message: /tolerence/ },
    { spec: { name: "accuracy", weight: "2" }, message: /give a reward function's name/ },
    { spec: { weight: 2 }, message: /give a reward function's name/ },
    { spec: 5, message: /give a reward function's name/ },
    { spec: { name: "combined" }, message: /rewards/ },
    { spec: { name: "combined", rewards: [] }, message: /rewards/ },
    { spec: { name: "format", tags: ["<think>"] }, message: /without brackets/ },
  ])("$spec is refused", ({ spec, message }) => {
    expect(() => reward(spec)).toThrow(z.ZodError);
    expect(() => reward(spec)).toThrow(message);
  });

  test("a fault inside combined is found at its place", () => {
    const spec = { name: "combined", rewards: ["accuracy", { name: "formatt" }] };
    const issues = issuesOf(() => reward(spec));
    expect(issues).toMatchObject([
      { path: ["rewards", 1, "name"], message: expect.stringContaining('called "formatt"') },
    ]);
  });
});

describe("failures", () => {
  const failing = defineReward(z.strictObject({}), () => ({ text }) => {
    if (text === "bad") throw new Error("the dictionary is missing");
    return text === "odd" ? Number.NaN : 1;
  });
  register("failing", failing);
  register(
    "short-list",
    defineGroupReward(z.strictObject({}), () => () => [1]),
  );
  register(
    "throws",
    defineGroupReward(z.strictObject({}), () => () => {
      throw new Error("no group");
    }),
  );

  test.each([
    { spec: "failing", texts: ["ok", "bad"], reward: "failing", completion: 1, message: "the dictionary is missing" },
    { spec: "failing", texts: ["ok", "ok", "odd"], reward: "failing", completion: 2, message: "NaN" },
    { spec: "short-list", texts: ["a", "b"], reward: "short-list", completion: null, message: "1 scores for 2" },
    { spec: "throws", texts: ["a"], reward: "throws", completion: null, message: "no group" },
    {
      spec: { name: "combined", rewards: ["format", "failing"] },
      texts: ["bad"],
      reward: "failing",
      completion: 0,
      message: "the dictionary is missing",
    },
  ])("$spec with $texts", ({ spec, texts, reward: name, completion, message }) => {
    const error = errorOf(() => scores(spec, texts));
    expect(error).toBeInstanceOf(RewardError);
    expect(error).toMatchObject({ reward: name, completion, message: expect.stringContaining(message) });
  });

  test("accuracy without an answer is a failure, not a score", () => {
    expect(() => scores("accuracy", [right], null)).toThrow(
      '"accuracy" failed at completion 0: the item has no answer',
    );
  });
});

describe("registering", () => {
  test("adds a name that specs, also inside combined, may use", () => {
    register(
      "brief",
      defineReward(
        z.strictObject({ below: z.int().default(3) }),
        ({ below }) =>
          ({ text }) =>
            text.length < below ? 1 : 0,
      ),
    );
    expect(rewardNames()).toContain("brief");
    expect(scores({ name: "combined", rewards: [{ name: "brief", below: 5, weight: 2 }] }, ["four", "fives"])).toEqual([
      2, 0,
    ]);
  });

  test("refuses a name that is taken", () => {
    expect(() =>
      register(
        "accuracy",
        defineReward(z.strictObject({}), () => () => 1),
      ),
    ).toThrow('"accuracy" is registered');
  });
});

function errorOf(action: () => unknown): unknown {
  try {
    action();
  } catch (error) {
    return error;
  }
  return undefined;
}

function issuesOf(action: () => unknown): unknown {
  const error = errorOf(action);
  return error instanceof z.ZodError ? error.issues : error;
}
