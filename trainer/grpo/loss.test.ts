import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Adam, createPolicy, Evaluation, type Policy } from "../policy/index.ts";
import { advantages, groupRelative } from "./advantages.ts";
import { type BatchInput, batch } from "./batch.ts";
import { loss } from "./loss.ts";
import { trainStep } from "./step.ts";

const policyOf = (): Policy =>
  createPolicy({ seed: 8, config: { width: 4, heads: 1, hidden: 4, maxLength: 16 }, pretraining: false });

const NOT = -100;
const GROUP = {
  tokens: [
    [1, 2, 3, 4],
    [1, 2, 5, 6],
  ],
  masks: [
    [NOT, NOT, 3, 4],
    [NOT, NOT, 5, 6],
  ],
  scores: [1, -1],
};

/** The policy's own logprobs of every position, shifted by what is given: 1.0 at position 0. */
function logprobsOf(policy: Policy, tokens: readonly (readonly number[])[], shift: (position: number) => number) {
  return tokens.map((sequence) => {
    const targets = sequence.slice(1).map((_, index) => ({ sequence: 0, position: index + 1 }));
    const evaluation = new Evaluation(policy.model, policy.weights, [sequence], targets);
    return [1, ...targets.map(({ position }, index) => evaluation.logprob(index) - shift(position))];
  });
}

const lossOf = (policy: Policy, groups: BatchInput, options = {}) =>
  loss(policy.model, policy.weights, batch.parse(groups), { entropyBonus: 0, ...options });

describe("advantages", () => {
  test.each([
    { scores: [1, -1], expected: [1, -1] },
    { scores: [1, 0, 0, 0], expected: [Math.sqrt(3), -1 / Math.sqrt(3), -1 / Math.sqrt(3), -1 / Math.sqrt(3)] },
    { scores: [2, 2, 2], expected: [0, 0, 0] },
    { scores: [5], expected: [0] },
  ])("of $scores", ({ scores, expected }) => {
    for (const [index, advantage] of groupRelative(scores).entries())
      expect(advantage).toBeCloseTo(expected[index] ?? 0);
  });

  test("add up to nothing, and don't change with the scores' scale", () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -50, max: 50 }), { minLength: 1 }), (scores) => {
        const relative = groupRelative(scores);
        expect(relative.reduce((sum, advantage) => sum + advantage, 0)).toBeCloseTo(0, 6);
        const scaled = groupRelative(scores.map((score) => 10 * score + 3));
        for (const [index, advantage] of scaled.entries()) expect(advantage).toBeCloseTo(relative[index] ?? 0, 6);
      }),
    );
  });

  test("are the group's own where it has them, and 0 where an override says so", () => {
    const [group] = batch.parse([
      {
        ...GROUP,
        advantages: [
          [0, 0, 2, 3],
          [0, 0, 4, 5],
        ],
        overrides: [null, { set_advantage_to_zero: true }],
      },
    ]);
    expect(group && advantages(group)).toEqual([
      [0, 0, 2, 3],
      [0, 0, 0, 0],
    ]);
  });
});

describe("the gradient agrees with finite differences", () => {
  const near = (position: number) => 0.05 * position;
  const far = (position: number) => (position % 2 === 0 ? 0.6 : -0.6);
  test.each([
    { name: "near the sampling policy", shift: near, options: {} },
    { name: "where tokens are clipped", shift: far, options: {} },
    { name: "with an entropy bonus", shift: near, options: { entropyBonus: 0.5 } },
    { name: "with a KL penalty", shift: far, options: { klPenalty: 0.7 } },
  ])("$name", ({ shift, options }) => {
    const policy = policyOf();
    const groups = [{ ...GROUP, inference_logprobs: logprobsOf(policy, GROUP.tokens, shift) }];
    const { gradient } = lossOf(policy, groups, options);
    const { weights } = policy;
    for (const { at, rows, columns } of policy.model.layout.matrices) {
      for (let i = at; i < at + rows * columns; i += 7) {
        const kept = weights[i] ?? 0;
        const step = 1e-5;
        weights[i] = kept + step;
        const above = lossOf(policy, groups, options).metrics.loss;
        weights[i] = kept - step;
        const below = lossOf(policy, groups, options).metrics.loss;
        weights[i] = kept;
        expect(gradient[i]).toBeCloseTo((above - below) / (2 * step), 6);
      }
    }
  });
});

test("a step makes what scored well likelier, and the rest less likely", () => {
  const policy = policyOf();
  const likely = () => logprobsOf(policy, GROUP.tokens, () => 0).map(([, , third = 0, fourth = 0]) => third + fourth);
  const before = likely();
  trainStep(policy, new Adam(policy.weights.length), [GROUP]);
  const after = likely();
  expect(after[0]).toBeGreaterThan(before[0] ?? 0);
  expect(after[1]).toBeLessThan(before[1] ?? 0);
  expect(policy.version).toBe(1);
});

test("without inference logprobs the gradient is that of a ratio of 1", () => {
  const policy = policyOf();
  const sampled = [{ ...GROUP, inference_logprobs: logprobsOf(policy, GROUP.tokens, () => 0) }];
  const { gradient, metrics } = lossOf(policy, [GROUP]);
  const known = lossOf(policy, sampled);
  for (const [i, slope] of gradient.entries()) expect(slope).toBeCloseTo(known.gradient[i] ?? 0, 10);
  expect(metrics).toMatchObject({ approxKl: 0, clipFraction: 0 });
});

test("masked positions, and their tokens' advantages, count for nothing", () => {
  const policy = policyOf();
  const given = (masked: number) => [
    {
      ...GROUP,
      advantages: [
        [masked, masked, 1, 1],
        [masked, masked, -1, -1],
      ],
    },
  ];
  expect(lossOf(policy, given(0))).toEqual(lossOf(policy, given(99)));
  expect(lossOf(policy, given(0)).metrics.tokens).toBe(4);
});

test("a trained position is predicted from the token before it", () => {
  const policy = policyOf();
  const groups = [{ tokens: [[1, 2, 3]], masks: [[NOT, NOT, 3]], scores: [0], advantages: [[0, 0, 1]] }];
  const { gradient } = lossOf(policy, groups);
  const evaluation = new Evaluation(policy.model, policy.weights, [[1, 2, 3]], [{ sequence: 0, position: 2 }]);
  evaluation.addSlope(0, { logprob: -1 });
  expect(gradient).toEqual(evaluation.gradient());
});

test("every token weighs the same, whatever sequence it is in", () => {
  const policy = policyOf();
  const short = { tokens: [[1, 2]], masks: [[NOT, 2]], scores: [0], advantages: [[0, 1]] };
  const long = { tokens: [[1, 3, 4, 5]], masks: [[NOT, 3, 4, 5]], scores: [0], advantages: [[0, 1, 1, 1]] };
  const [one, three, both] = [[short], [long], [short, long]].map((groups) => lossOf(policy, groups).gradient);
  for (const [i, slope] of (both ?? []).entries()) {
    expect(slope).toBeCloseTo(((one?.[i] ?? 0) + 3 * (three?.[i] ?? 0)) / 4, 10);
  }
});

test("clipped tokens are counted, and teach nothing", () => {
  const policy = policyOf();
  // Both sequences have moved beyond the clip already, each in the direction of its advantage.
  const moved = GROUP.tokens.map(
    (sequence, index) => logprobsOf(policy, [sequence], () => (index === 0 ? 1 : -1))[0] ?? [],
  );
  const { gradient, metrics } = lossOf(policy, [{ ...GROUP, inference_logprobs: moved }]);
  expect(metrics.clipFraction).toBe(1);
  expect(gradient.every((slope) => slope === 0)).toBe(true);
});

test("metrics are of the whole batch", () => {
  const { metrics } = lossOf(policyOf(), [GROUP, { ...GROUP, scores: [1, 1] }]);
  expect(metrics).toMatchObject({ rewardMean: 0.5, sequences: 4, tokens: 8 });
  expect(metrics.rewardStd).toBeCloseTo(Math.sqrt(0.75));
  expect(metrics.entropy).toBeGreaterThan(0);
});

describe("a batch is refused", () => {
  test.each([
    { name: "without groups", groups: [], says: /at least one group/ },
    {
      name: "with masks of another length",
      groups: [{ ...GROUP, masks: [[1], [1, 2, 3, 4]] }],
      says: /masks\[0\].*1 positions for 4/s,
    },
    { name: "with a score missing", groups: [{ ...GROUP, scores: [1] }], says: /scores.*1 sequences for 2/s },
    { name: "with a score that is not finite", groups: [{ ...GROUP, scores: [1, Number.NaN] }], says: /finite/ },
    {
      name: "with half a token",
      groups: [
        {
          ...GROUP,
          tokens: [
            [1, 2, 3, 0.5],
            [1, 2, 3, 4],
          ],
        },
      ],
      says: /token ids/,
    },
    {
      name: "of another vocabulary",
      groups: [
        {
          ...GROUP,
          tokens: [
            [1, 2, 3, 4],
            [1, 2, 3, 9999],
          ],
        },
      ],
      says: /sequence 1.*token 9999/,
    },
    {
      name: "with nothing to train on",
      groups: [{ ...GROUP, masks: GROUP.tokens.map((t) => t.map(() => NOT)) }],
      says: /no trained tokens/,
    },
  ])("$name, and the policy stays as it was", ({ groups, says }) => {
    const policy = policyOf();
    const before = policy.save();
    expect(() => trainStep(policy, new Adam(policy.weights.length), groups)).toThrow(says);
    expect(policy.save()).toEqual(before);
  });
});

test("empty lists and nulls mean absent", () => {
  const [group] = batch.parse([{ ...GROUP, inference_logprobs: [], advantages: null, overrides: [] }]);
  expect(group).toMatchObject({ inference_logprobs: null, advantages: null, overrides: null });
});
