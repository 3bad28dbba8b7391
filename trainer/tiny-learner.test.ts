import { expect, test } from "vitest";
import { createPolicy, encode } from "./policy/index.ts";
import { TinyLearner } from "./tiny-learner.ts";

const SETTINGS = { seed: 3, learningRate: 0.01 };
const policyOf = () => createPolicy({ seed: SETTINGS.seed, pretraining: false });

/** A batch of one group; another one for each step. */
function batchOf(step: number): object[] {
  const tokens = [1, 2, 3, 4].map((index) => encode(`${step} and ${index} is ${step + index}`));
  const trained = tokens.map((sequence) => sequence.map((token, index) => (index < 2 ? -100 : token)));
  return [{ tokens, masks: trained, scores: [1, -1, step % 2, -1] }];
}

function learn(learner: TinyLearner, from: number, to: number): void {
  for (let step = from; step <= to; step++) learner.learn(batchOf(step), step);
}

test("saved and loaded it learns on with the same bits, its optimizer too", () => {
  const [whole, first, second] = [policyOf(), policyOf(), policyOf()];
  learn(new TinyLearner(whole, SETTINGS), 1, 6);
  const before = new TinyLearner(first, SETTINGS);
  learn(before, 1, 3);
  const after = new TinyLearner(second, SETTINGS);
  after.load(before.save());
  learn(after, 4, 6);
  expect(second.weights).toEqual(whole.weights);
  expect(second.weights).not.toEqual(first.weights);
  expect(second.version).toBe(6);
});

test("a step says its reward and its loss, and makes its step the policy's version", () => {
  const policy = policyOf();
  const metrics = new TinyLearner(policy, SETTINGS).learn(batchOf(2), 7);
  expect(metrics).toMatchObject({ reward_mean: -0.25, loss: expect.any(Number), sequences: 4 });
  expect(policy.version).toBe(7);
});

test("a learning rate of 0 changes no weight", () => {
  const policy = policyOf();
  learn(new TinyLearner(policy, { seed: SETTINGS.seed, learningRate: 0 }), 1, 3);
  expect(policy.weights).toEqual(policyOf().weights);
});

test("a batch that can't be learned from leaves everything as it is", () => {
  const policy = policyOf();
  const learner = new TinyLearner(policy, SETTINGS);
  const before = learner.save();
  expect(() => learner.learn([{ tokens: [[1, 2]], masks: [[1]], scores: [1] }], 1)).toThrow(/masks/);
  expect(learner.save()).toEqual(before);
});
