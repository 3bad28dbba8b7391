import { z } from "zod";
import { CheckpointError } from "./checkpoint.ts";
import { readDoubles, writeDoubles } from "./doubles.ts";

/** AdamW's settings. */
export const adamOptions = z.strictObject({
  learningRate: z.number().nonnegative().default(3e-3),
  beta1: z.number().min(0).lt(1).default(0.9),
  beta2: z.number().min(0).lt(1).default(0.95),
  epsilon: z.number().positive().default(1e-8),
  /** Decoupled: shrinks the weights by this times the learning rate at each step. */
  weightDecay: z.number().nonnegative().default(0),
  /** Longest gradient (2-norm); a longer one is scaled down to it. */
  maxGradientNorm: z.number().positive().default(1),
});

export type AdamOptions = z.input<typeof adamOptions>;

/** AdamW with gradient clipping. It remembers both moments of the gradient, so it belongs to one policy. */
export class Adam {
  readonly #options: z.infer<typeof adamOptions>;
  readonly #first: Float64Array;
  readonly #second: Float64Array;
  #steps = 0;

  /** @param length the number of weights */
  constructor(length: number, options: AdamOptions = {}) {
    this.#options = adamOptions.parse(options);
    this.#first = new Float64Array(length);
    this.#second = new Float64Array(length);
  }

  /** Steps taken so far. */
  get steps(): number {
    return this.#steps;
  }

  /**
   * Moves the weights against the gradient, in place.
   * @returns the gradient's norm before clipping
   * @throws RangeError when the gradient isn't finite or has another length; the weights stay as they were
   */
  step(weights: Float64Array, gradient: Float64Array): number {
    const { learningRate, beta1, beta2, epsilon, weightDecay, maxGradientNorm } = this.#options;
    const first = this.#first;
    const second = this.#second;
    if (weights.length !== first.length || gradient.length !== first.length) {
      throw new RangeError(
        `the optimizer is for ${first.length} weights, not ${weights.length}: it belongs to one policy`,
      );
    }
    const norm = lengthOf(gradient);
    if (!Number.isFinite(norm)) throw new RangeError(`the gradient's norm is ${norm}: the step is left out`);
    const clip = norm > maxGradientNorm ? maxGradientNorm / norm : 1;
    this.#steps += 1;
    const firstScale = 1 / (1 - beta1 ** this.#steps);
    const secondScale = 1 / (1 - beta2 ** this.#steps);
    for (let i = 0; i < weights.length; i++) {
      const slope = clip * (gradient[i] ?? 0);
      const m = beta1 * (first[i] ?? 0) + (1 - beta1) * slope;
      const v = beta2 * (second[i] ?? 0) + (1 - beta2) * slope * slope;
      first[i] = m;
      second[i] = v;
      const weight = weights[i] ?? 0;
      const move = (m * firstScale) / (Math.sqrt(v * secondScale) + epsilon) + weightDecay * weight;
      weights[i] = weight - learningRate * move;
    }
    return norm;
  }

  /** Steps and moments, as little-endian float64; not the settings. */
  save(): Uint8Array {
    const values = new Float64Array(1 + 2 * this.#first.length);
    values[0] = this.#steps;
    values.set(this.#first, 1);
    values.set(this.#second, 1 + this.#first.length);
    return writeDoubles(values);
  }

  /** @throws CheckpointError when the bytes aren't of an optimizer for as many weights; nothing changes then */
  load(bytes: Uint8Array): void {
    const { length } = this.#first;
    const expected = 8 * (1 + 2 * length);
    if (bytes.length !== expected) {
      throw new CheckpointError(`the optimizer's checkpoint has ${bytes.length} bytes instead of ${expected}`);
    }
    const values = readDoubles(bytes);
    const [steps = Number.NaN] = values;
    if (!Number.isInteger(steps) || steps < 0 || !values.every(Number.isFinite)) {
      throw new CheckpointError("this is not an optimizer's checkpoint: its numbers make no sense");
    }
    this.#steps = steps;
    this.#first.set(values.subarray(1, 1 + length));
    this.#second.set(values.subarray(1 + length));
  }
}

function lengthOf(gradient: Float64Array): number {
  let sum = 0;
  for (const value of gradient) sum += value * value;
  return Math.sqrt(sum);
}
