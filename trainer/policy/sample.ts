import { Forest } from "./forest.ts";
import type { Model } from "./model.ts";
import { Random } from "./random.ts";
import { logSoftmax } from "./softmax.ts";

/** The weights to sample with, and the step they are from. Both may change between two tokens. */
export interface Weights {
  readonly weights: Float64Array;
  readonly version: number;
}

export interface SampleRequest {
  /** At least one id. */
  readonly prompt: readonly number[];
  /** Completions; they share the prompt's computation. */
  readonly n: number;
  readonly maxTokens: number;
  /** 0 takes the likeliest token. */
  readonly temperature: number;
  /** A sampled one of these is the last token of its sequence. */
  readonly stopTokenIds: readonly number[];
  readonly seed: number;
}

export interface SampledSequence {
  /** The completion alone, with the stop token when it stopped. */
  readonly tokens: number[];
  /** Of each token, before temperature (vLLM's default). */
  readonly logprobs: number[];
  readonly finishReason: "stop" | "length";
  /** [policy version, tokens sampled with it], in order. */
  readonly policyVersions: [version: number, count: number][];
}

interface Growing {
  readonly tokens: number[];
  readonly logprobs: number[];
  readonly policyVersions: [version: number, count: number][];
  finishReason: "stop" | "length";
  /** Its newest row, whose logits give the next token. */
  row: number;
}

/**
 * Samples token by token and yields after each (one of every sequence), so that whoever drives it can let other work in,
 * new weights included. What earlier weights computed for earlier tokens stays in use, as in a server's KV cache.
 * @throws RangeError for an empty prompt, or one that leaves no room below the model's maxLength
 */
export function* sampling(model: Model, current: Weights, request: SampleRequest): Generator<void, SampledSequence[]> {
  const { prompt, n, temperature } = request;
  const { maxLength } = model.layout.config;
  if (prompt.length === 0) throw new RangeError("the prompt is empty: it needs at least one token");
  if (prompt.length >= maxLength) {
    throw new RangeError(`the prompt has ${prompt.length} tokens: it must leave room for one below ${maxLength}`);
  }
  const maxTokens = Math.min(request.maxTokens, maxLength - prompt.length);
  const stops = new Set(request.stopTokenIds);
  const forest = new Forest();
  const activations = model.activations();
  let root = -1;
  for (const token of prompt) root = forest.append(root, token);
  model.forward(current.weights, forest, activations, 0, forest.rows);
  // A generator a sequence: what one of them draws doesn't depend on when the others stop.
  const seeds = new Random(request.seed);
  const randoms = Array.from({ length: n }, () => new Random(seeds.seed()));
  const sequences = Array.from({ length: n }, (): Growing => {
    return { tokens: [], logprobs: [], policyVersions: [], finishReason: "length", row: root };
  });
  const { vocabulary } = model.layout;
  let live = [...sequences.entries()];
  for (let length = 0; length < maxTokens && live.length > 0; length++) {
    if (length > 0) {
      yield;
      const from = forest.rows;
      for (const [, sequence] of live) sequence.row = forest.append(sequence.row, sequence.tokens.at(-1) ?? 0);
      model.forward(current.weights, forest, activations, from, forest.rows);
    }
    const rows = length === 0 ? [root] : live.map(([, { row }]) => row);
    const logprobs = model.logits(current.weights, activations, rows);
    for (let row = 0; row < rows.length; row++) logSoftmax(logprobs, row * vocabulary, vocabulary);
    for (const [place, [index, sequence]] of live.entries()) {
      const at = length === 0 ? 0 : place * vocabulary;
      const uniform = randoms[index]?.uniform() ?? 0;
      const token = choose(logprobs.subarray(at, at + vocabulary), temperature, uniform);
      sequence.tokens.push(token);
      sequence.logprobs.push(logprobs[at + token] ?? 0);
      countVersion(sequence.policyVersions, current.version);
      if (stops.has(token)) sequence.finishReason = "stop";
    }
    live = live.filter(([, { finishReason }]) => finishReason === "length");
  }
  return sequences.map(({ row: _, ...sequence }) => sequence);
}

/** Samples to the end without a pause. @throws as {@link sampling} */
export function sample(model: Model, current: Weights, request: SampleRequest): SampledSequence[] {
  const running = sampling(model, current, request);
  for (;;) {
    const result = running.next();
    if (result.done) return result.value;
  }
}

/** Draws from softmax(logprobs / temperature). */
function choose(logprobs: Float64Array, temperature: number, uniform: number): number {
  const best = likeliest(logprobs);
  if (temperature === 0) return best;
  const top = logprobs[best] ?? 0;
  // At temperature 1 these are probabilities already, and the sum is known.
  let rest = uniform * Math.exp(-top);
  if (temperature !== 1) {
    rest = 0;
    for (const logprob of logprobs) rest += Math.exp((logprob - top) / temperature);
    rest *= uniform;
  }
  for (let token = 0; token < logprobs.length; token++) {
    rest -= Math.exp(((logprobs[token] ?? 0) - top) / temperature);
    if (rest < 0) return token;
  }
  return best;
}

function likeliest(logprobs: Float64Array): number {
  let best = 0;
  for (let token = 1; token < logprobs.length; token++) {
    if ((logprobs[token] ?? 0) > (logprobs[best] ?? 0)) best = token;
  }
  return best;
}

function countVersion(policyVersions: [version: number, count: number][], version: number): void {
  const last = policyVersions.at(-1);
  if (last?.[0] === version) last[1] += 1;
  else policyVersions.push([version, 1]);
}
