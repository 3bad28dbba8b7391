import { describe, expect, test } from "vitest";
import { Adam } from "./adam.ts";
import { chatIds } from "./chat.ts";
import { createPolicy, loadPolicy, Policy } from "./policy.ts";
import { sample } from "./sample.ts";
import { decode, SPECIAL_ID } from "./tokenizer.ts";

const small = { width: 8, heads: 2, hidden: 8 };
const fresh = (seed: number) => createPolicy({ seed, config: small, pretraining: false });

test("the same seed makes the same policy, another another", () => {
  const of = (seed: number) => createPolicy({ seed, config: small, pretraining: { steps: 2 } }).weights;
  expect(of(1)).toEqual(of(1));
  expect(of(1)).not.toEqual(of(2));
});

test("pre-training teaches the form of an answer and not the task", () => {
  const policy = createPolicy({ seed: 4 });
  const answers = [
    "Mia has 3 pears and gets 2 more. How many pears?",
    "Tom has 7 coins and loses 5. How many coins?",
  ].map((content) => {
    const prompt = chatIds([{ role: "user", content }], { addGenerationPrompt: true });
    const request = { prompt, n: 200, maxTokens: 8, temperature: 1, stopTokenIds: [SPECIAL_ID.end], seed: 1 };
    return sample(policy.model, policy, request).map(({ tokens }) => decode(tokens, { skipSpecial: true }));
  });
  for (const texts of answers) {
    expect(texts.filter((text) => /^\\boxed\{\d+\}$/.test(text)).length).toBeGreaterThan(140);
    expect(texts.filter((text) => text === "\\boxed{5}").length).toBeLessThan(60);
    expect(new Set(texts).size).toBeGreaterThan(5);
  }
}, 30_000);

describe("checkpoints", () => {
  test("keep weights, shape and version", () => {
    const policy = fresh(1);
    policy.advance(12);
    const loaded = loadPolicy(policy.save());
    expect(loaded.weights).toEqual(policy.weights);
    expect(loaded.config).toEqual(policy.config);
    expect(loaded.version).toBe(12);
  });

  test("can be loaded into a live policy", () => {
    const [from, into] = [fresh(1), fresh(2)];
    into.load(from.save());
    expect(into.weights).toEqual(from.weights);
  });

  const saved = fresh(1).save();
  const edited = (from: string, to: string): Uint8Array => {
    const end = saved.indexOf(10);
    const head = new TextDecoder().decode(saved.subarray(0, end)).replace(from, to);
    return new Uint8Array([...new TextEncoder().encode(head), ...saved.subarray(end)]);
  };
  test.each([
    { name: "nothing", bytes: new Uint8Array(), message: /no header line/ },
    { name: "something else", bytes: new TextEncoder().encode("hello\nworld"), message: /not JSON/ },
    { name: "another format", bytes: edited('"format":1', '"format":9'), message: /format 9 can't be read/ },
    { name: "another vocabulary", bytes: edited('"vocabulary":', '"vocabulary":1'), message: /knows 1\d+ tokens/ },
    {
      name: "another shape",
      bytes: edited('"width":8', '"width":16'),
      message: /embedding of \d+ × 8 where embedding/,
    },
    { name: "a cut off end", bytes: saved.subarray(0, saved.length - 8), message: /cut off/ },
  ])("$name is refused", ({ bytes, message }) => {
    expect(() => loadPolicy(bytes)).toThrow(message);
  });

  test("of another shape don't fit into a live policy, which stays as it was", () => {
    const policy = createPolicy({ seed: 1, config: { ...small, layers: 3 }, pretraining: false });
    const before = policy.save();
    expect(() => policy.load(saved)).toThrow("the checkpoint's layers is 2, the policy's is 3");
    expect(policy.save()).toEqual(before);
  });

  test("weights that are not finite are refused", () => {
    const policy = fresh(1);
    policy.weights[3] = Number.NaN;
    expect(() => loadPolicy(policy.save())).toThrow(/not finite/);
  });
});

test.each([{ width: 10, heads: 3 }, { layers: 0 }, { width: 1.5 }])("refuses the shape %o", (config) => {
  expect(() => createPolicy({ seed: 1, config })).toThrow();
});

describe("Adam", () => {
  test("finds the least of a parabola", () => {
    const weights = new Float64Array([5, -3]);
    const adam = new Adam(2, { learningRate: 0.1 });
    for (let step = 0; step < 300; step++)
      adam.step(
        weights,
        weights.map((weight) => 2 * (weight - 1)),
      );
    expect(weights[0]).toBeCloseTo(1, 2);
    expect(weights[1]).toBeCloseTo(1, 2);
  });

  test("clips a long gradient and says how long it was", () => {
    const [long, short] = [new Float64Array(2), new Float64Array(2)];
    const options = { maxGradientNorm: 1, learningRate: 0.1, epsilon: 1 };
    expect(new Adam(2, options).step(long, new Float64Array([30, 40]))).toBe(50);
    new Adam(2, options).step(short, new Float64Array([0.6, 0.8]));
    for (const [i, weight] of long.entries()) expect(weight).toBeCloseTo(short[i] ?? 0, 12);
  });

  test("saved and loaded it goes on as if nothing had been", () => {
    const gradient = new Float64Array([1, -2]);
    const weights = new Float64Array(2);
    const adam = new Adam(2);
    adam.step(weights, gradient);
    const copied = weights.slice();
    const copy = new Adam(2);
    copy.load(adam.save());
    adam.step(weights, gradient);
    copy.step(copied, gradient);
    expect(copied).toEqual(weights);
    expect(() => new Adam(3).load(adam.save())).toThrow(/40 bytes instead of 56/);
  });

  test("leaves the weights alone when the gradient isn't finite", () => {
    const weights = new Float64Array([1]);
    expect(() => new Adam(1).step(weights, new Float64Array([Number.NaN]))).toThrow(RangeError);
    expect(weights[0]).toBe(1);
  });
});

test("a policy is a model, its weights and their version", () => {
  const { model, weights } = fresh(1);
  const policy = new Policy(model, weights, 3);
  policy.advance();
  expect(policy.version).toBe(4);
});
