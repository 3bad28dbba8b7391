import { describe, expect, test } from "vitest";
import { Evaluation } from "./evaluation.ts";
import { createPolicy } from "./policy.ts";
import { type SampleRequest, sample, sampling } from "./sample.ts";
import { VOCABULARY } from "./vocabulary.ts";

const { model, weights } = createPolicy({
  seed: 2,
  config: { width: 8, heads: 2, layers: 2, hidden: 8, maxLength: 40 },
  pretraining: false,
});
const current = { weights, version: 7 };
const request: SampleRequest = { prompt: [1, 20, 30], n: 6, maxTokens: 9, temperature: 1, stopTokenIds: [], seed: 5 };

test.each([0.5, 1, 2])("logprobs are those of the policy, before temperature %s", (temperature) => {
  for (const { tokens, logprobs } of sample(model, current, { ...request, temperature })) {
    const sequence = [...request.prompt, ...tokens];
    const targets = tokens.map((_, index) => ({ sequence: 0, position: request.prompt.length + index }));
    const evaluation = new Evaluation(model, weights, [sequence], targets);
    for (const [index, logprob] of logprobs.entries()) expect(logprob).toBeCloseTo(evaluation.logprob(index), 10);
  }
});

test("the same seed gives the same tokens, another others", () => {
  expect(sample(model, current, request)).toEqual(sample(model, current, request));
  expect(sample(model, current, { ...request, seed: 6 })).not.toEqual(sample(model, current, request));
});

test("a sequence ends with a stop token, and the others go on as without it", () => {
  const free = sample(model, current, request);
  const stop = free[0]?.tokens[2] ?? 0;
  const stopped = sample(model, current, { ...request, stopTokenIds: [stop] });
  for (const [index, { tokens, finishReason, logprobs }] of stopped.entries()) {
    const whole = free[index]?.tokens ?? [];
    const at = whole.indexOf(stop);
    expect(tokens).toEqual(at < 0 ? whole : whole.slice(0, at + 1));
    expect(finishReason).toBe(at < 0 ? "length" : "stop");
    expect(logprobs).toHaveLength(tokens.length);
  }
});

test("temperature 0 takes the likeliest token", () => {
  const [first, ...others] = sample(model, current, { ...request, temperature: 0 });
  expect(others.every(({ tokens }) => String(tokens) === String(first?.tokens))).toBe(true);
  const candidates = VOCABULARY.map((_, token) => [...request.prompt, token]);
  const targets = candidates.map((_, sequence) => ({ sequence, position: request.prompt.length }));
  const evaluation = new Evaluation(model, weights, candidates, targets);
  const logprobs = VOCABULARY.map((_, token) => evaluation.logprob(token));
  expect(first?.tokens[0]).toBe(logprobs.indexOf(Math.max(...logprobs)));
});

test("tokens come as often as they are likely", () => {
  const n = 20_000;
  const counts = new Map<number, number>();
  for (const { tokens } of sample(model, current, { ...request, n, maxTokens: 1 })) {
    const [token = -1] = tokens;
    counts.set(token, (counts.get(token) ?? 0) + 1);
  }
  const [token, count] = [...counts].sort(([, a], [, b]) => b - a)[0] ?? [0, 0];
  const evaluation = new Evaluation(model, weights, [[...request.prompt, token]], [{ sequence: 0, position: 3 }]);
  const probability = Math.exp(evaluation.logprob(0));
  expect(Math.abs(count / n - probability)).toBeLessThan(5 * Math.sqrt((probability * (1 - probability)) / n));
});

test("weights that change on the way show in the version segments", () => {
  const changing = { weights, version: 1 };
  const running = sampling(model, changing, request);
  for (let token = 0; token < 4; token++) running.next();
  changing.version = 2;
  changing.weights = weights.map((weight) => -weight);
  let result = running.next();
  while (!result.done) result = running.next();
  for (const { policyVersions } of result.value) {
    expect(policyVersions).toEqual([
      [1, 4],
      [2, 5],
    ]);
  }
});

describe("length", () => {
  test("completions end where the model does", () => {
    const [sequence] = sample(model, current, { ...request, n: 1, maxTokens: 1000 });
    expect(sequence?.tokens).toHaveLength(37);
    expect(sequence?.finishReason).toBe("length");
  });

  test.each([
    { prompt: [], message: /empty/ },
    { prompt: Array.from({ length: 40 }, () => 1), message: /has 40 tokens/ },
  ])("refuses a prompt of $prompt.length tokens", ({ prompt, message }) => {
    expect(() => sample(model, current, { ...request, prompt })).toThrow(message);
  });
});
