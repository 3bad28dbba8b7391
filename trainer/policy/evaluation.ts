import type { Activations } from "./activations.ts";
import { Forest } from "./forest.ts";
import type { Model } from "./model.ts";
import { logSoftmax } from "./softmax.ts";

/** A token to predict: `sequences[sequence][position]`, from those before it. */
export interface Target {
  readonly sequence: number;
  readonly position: number;
}

/** What a loss changes with a target's logprob, and with the entropy of the distribution it was drawn from. */
export interface Slope {
  readonly logprob: number;
  readonly entropy?: number;
}

interface Place {
  /** Row in the matrix of logprobs. */
  readonly slot: number;
  readonly token: number;
}

/**
 * One pass of a policy over some sequences: the logprob of each target, and the weights' gradient for any loss made of
 * these logprobs and entropies. Tokens with the same history are computed once.
 */
export class Evaluation {
  readonly #model: Model;
  readonly #weights: Float64Array;
  readonly #forest = new Forest();
  readonly #activations: Activations;
  readonly #places: readonly Place[];
  /** The row of each slot. */
  readonly #rows: readonly number[];
  /** `[slot][vocabulary]` */
  readonly #logprobs: Float64Array;
  /** `[slot][vocabulary]`; the part of −Σ slope · p is added at the end. */
  readonly #dLogits: Float64Array;
  readonly #slopes: Float64Array;
  readonly #entropySlopes: Float64Array;
  readonly #entropies: Float64Array;

  /** @throws RangeError for a target at position 0 (nothing precedes it), and for a sequence above the model's maxLength */
  constructor(
    model: Model,
    weights: Float64Array,
    sequences: readonly (readonly number[])[],
    targets: readonly Target[],
  ) {
    this.#model = model;
    this.#weights = weights;
    const rowsOf = sequences.map((sequence) => this.#forest.add(sequence));
    const slots = new Map<number, number>();
    this.#places = targets.map(({ sequence, position }) => {
      const row = rowsOf[sequence]?.[position - 1];
      const token = sequences[sequence]?.[position];
      if (row === undefined || token === undefined) {
        throw new RangeError(
          `sequence ${sequence} has no position ${position} with a token before it to predict it from`,
        );
      }
      const slot = slots.get(row) ?? slots.size;
      slots.set(row, slot);
      return { slot, token };
    });
    this.#rows = [...slots.keys()];
    this.#activations = model.activations();
    model.forward(weights, this.#forest, this.#activations, 0, this.#forest.rows);
    const { vocabulary } = model.layout;
    this.#logprobs = model.logits(weights, this.#activations, this.#rows);
    this.#entropies = new Float64Array(this.#rows.length);
    for (let slot = 0; slot < this.#rows.length; slot++) {
      logSoftmax(this.#logprobs, slot * vocabulary, vocabulary);
      this.#entropies[slot] = entropyOf(this.#logprobs, slot * vocabulary, vocabulary);
    }
    this.#dLogits = new Float64Array(this.#logprobs.length);
    this.#slopes = new Float64Array(this.#rows.length);
    this.#entropySlopes = new Float64Array(this.#rows.length);
  }

  /** Rows computed: tokens, less those with a history that another has too. */
  get rows(): number {
    return this.#forest.rows;
  }

  /** Natural log of the probability that the policy gives a target. */
  logprob(target: number): number {
    const { slot, token } = this.#place(target);
    return this.#logprobs[slot * this.#model.layout.vocabulary + token] ?? 0;
  }

  /** Of the distribution a target is drawn from, in nats. */
  entropy(target: number): number {
    return this.#entropies[this.#place(target).slot] ?? 0;
  }

  /** Adds a part of the loss; see {@link gradient}. */
  addSlope(target: number, { logprob, entropy = 0 }: Slope): void {
    const { slot, token } = this.#place(target);
    const at = slot * this.#model.layout.vocabulary + token;
    this.#dLogits[at] = (this.#dLogits[at] ?? 0) + logprob;
    this.#slopes[slot] = (this.#slopes[slot] ?? 0) + logprob;
    this.#entropySlopes[slot] = (this.#entropySlopes[slot] ?? 0) + entropy;
  }

  /** The weights' gradient for the slopes added; to be asked for once. */
  gradient(): Float64Array {
    const { vocabulary, length } = this.#model.layout;
    for (let slot = 0; slot < this.#rows.length; slot++) {
      const slope = this.#slopes[slot] ?? 0;
      const entropySlope = this.#entropySlopes[slot] ?? 0;
      const entropy = this.#entropies[slot] ?? 0;
      for (let at = slot * vocabulary; at < (slot + 1) * vocabulary; at++) {
        const logprob = this.#logprobs[at] ?? 0;
        const change = slope + entropySlope * (logprob + entropy);
        this.#dLogits[at] = (this.#dLogits[at] ?? 0) - Math.exp(logprob) * change;
      }
    }
    const gradient = new Float64Array(length);
    this.#model.backward(this.#weights, this.#forest, this.#activations, this.#rows, this.#dLogits, gradient);
    return gradient;
  }

  #place(target: number): Place {
    const place = this.#places[target];
    if (place === undefined) throw new RangeError(`there is no target ${target}: there are ${this.#places.length}`);
    return place;
  }
}

function entropyOf(logprobs: Float64Array, at: number, width: number): number {
  let entropy = 0;
  for (let i = at; i < at + width; i++) {
    const logprob = logprobs[i] ?? 0;
    entropy -= Math.exp(logprob) * logprob;
  }
  return entropy;
}
