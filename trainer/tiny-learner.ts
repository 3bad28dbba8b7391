import { batch, type LossOptions, trainStep } from "./grpo/index.ts";
import type { Learner, Metrics } from "./loop/learner.ts";
import { Adam, type Policy } from "./policy/index.ts";

export interface TinyLearnerOptions {
  readonly seed: number;
  readonly learningRate: number;
  readonly loss?: LossOptions;
}

/** The tiny policy with its optimizer, taught by GRPO. */
export class TinyLearner implements Learner {
  readonly settings: Readonly<Record<string, string | number>>;
  readonly #policy: Policy;
  readonly #adam: Adam;
  readonly #loss: LossOptions;

  /** @param policy as createPolicy made it from the same seed. */
  constructor(policy: Policy, { seed, learningRate, loss = {} }: TinyLearnerOptions) {
    this.#policy = policy;
    this.#adam = new Adam(policy.weights.length, { learningRate });
    this.#loss = loss;
    this.settings = { seed, learning_rate: learningRate };
  }

  learn(groups: readonly unknown[], step: number): Metrics {
    const { rewardMean, loss, ...rest } = trainStep(this.#policy, this.#adam, batch.parse(groups), this.#loss);
    this.#policy.advance(step);
    const { rewardStd, clipFraction, approxKl, entropy, tokens, sequences, gradientNorm } = rest;
    return {
      reward_mean: rewardMean,
      loss,
      reward_std: rewardStd,
      clip_fraction: clipFraction,
      approx_kl: approxKl,
      entropy,
      tokens,
      sequences,
      gradient_norm: gradientNorm,
    };
  }

  /** The length of the policy's bytes (uint32), these, then the optimizer's. */
  save(): Uint8Array {
    const policy = this.#policy.save();
    const optimizer = this.#adam.save();
    const bytes = new Uint8Array(4 + policy.length + optimizer.length);
    new DataView(bytes.buffer).setUint32(0, policy.length);
    bytes.set(policy, 4);
    bytes.set(optimizer, 4 + policy.length);
    return bytes;
  }

  load(saved: Uint8Array): void {
    const end = 4 + new DataView(saved.buffer, saved.byteOffset).getUint32(0);
    this.#policy.load(saved.slice(4, end));
    this.#adam.load(saved.slice(end));
  }
}
