import { z } from "zod";
import { Evaluation, type Model, type Target } from "../policy/index.ts";
import { advantages, deviationOf, meanOf } from "./advantages.ts";
import type { Batch } from "./batch.ts";

/** A position with this mask is not trained on. */
const NOT_TRAINED = -100;

/** Settings of the loss. */
export const lossOptions = z.strictObject({
  /** How far below 1 the importance ratio still counts. */
  clipLow: z.number().nonnegative().default(0.2),
  /** How far above; more than below, so that rare tokens can grow ("clip higher"). */
  clipHigh: z.number().nonnegative().default(0.28),
  /** Weight of the entropy, which is added to the objective. */
  entropyBonus: z.number().nonnegative().default(0.01),
  /** Weight of the divergence from the policy that sampled (the k3 estimate), which is taken off it. */
  klPenalty: z.number().nonnegative().default(0),
});

export type LossOptions = z.input<typeof lossOptions>;

/** What a step says of its batch; logprobs and entropy in nats, means over the trained tokens. */
export interface LossMetrics {
  readonly loss: number;
  /** Of the scores of all sequences. */
  readonly rewardMean: number;
  readonly rewardStd: number;
  /** Share of trained tokens whose gradient was clipped away. */
  readonly clipFraction: number;
  /** Divergence of the policy from the one that sampled: mean of ratio − 1 − log ratio. */
  readonly approxKl: number;
  readonly entropy: number;
  /** Trained on. */
  readonly tokens: number;
  readonly sequences: number;
}

interface Trained extends Target {
  readonly advantage: number;
  /** Null when whoever sampled didn't say. */
  readonly logprob: number | null;
}

/**
 * GRPO's loss: the clipped, importance-weighted policy gradient of PPO, its mean over all trained tokens of the batch.
 * Position t is predicted from the tokens before it, so position 0 is never trained on. Without an inference logprob the
 * ratio is 1 and the gradient is the plain policy gradient.
 * @throws RangeError when nothing in the batch is trained on, or a token isn't in the vocabulary
 */
export function loss(
  model: Model,
  weights: Float64Array,
  batch: Batch,
  options: LossOptions = {},
): { gradient: Float64Array; metrics: LossMetrics } {
  const { clipLow, clipHigh, entropyBonus, klPenalty } = lossOptions.parse(options);
  const targets = trainedTokens(batch);
  if (targets.length === 0) {
    throw new RangeError(`the batch has no trained tokens: all of its masks are ${NOT_TRAINED}`);
  }
  const sequences = batch.flatMap(({ tokens }) => tokens);
  checkVocabulary(sequences, model.layout.vocabulary);
  const evaluation = new Evaluation(model, weights, sequences, targets);
  const sums = { loss: 0, clipped: 0, kl: 0, entropy: 0 };
  for (const [index, { advantage, logprob: sampled }] of targets.entries()) {
    const logprob = evaluation.logprob(index);
    const entropy = evaluation.entropy(index);
    const logRatio = sampled === null ? 0 : logprob - sampled;
    const ratio = Math.exp(logRatio);
    const clipped = advantage > 0 ? ratio > 1 + clipHigh : advantage < 0 && ratio < 1 - clipLow;
    const bounded = Math.min(Math.max(ratio, 1 - clipLow), 1 + clipHigh);
    const divergence = ratio - 1 - logRatio;
    // For the penalty the roles are swapped: k3 of the policy from the sampling one, under the policy's own samples.
    const penalty = 1 / ratio - 1 + logRatio;
    sums.loss -= Math.min(ratio * advantage, bounded * advantage) + entropyBonus * entropy - klPenalty * penalty;
    sums.clipped += clipped ? 1 : 0;
    sums.kl += divergence;
    sums.entropy += entropy;
    evaluation.addSlope(index, {
      logprob: ((clipped ? 0 : -ratio * advantage) + klPenalty * (1 - 1 / ratio)) / targets.length,
      entropy: -entropyBonus / targets.length,
    });
  }
  const scores = batch.flatMap((group) => group.scores);
  const metrics: LossMetrics = {
    loss: sums.loss / targets.length,
    rewardMean: meanOf(scores),
    rewardStd: deviationOf(scores),
    clipFraction: sums.clipped / targets.length,
    approxKl: sums.kl / targets.length,
    entropy: sums.entropy / targets.length,
    tokens: targets.length,
    sequences: sequences.length,
  };
  return { gradient: evaluation.gradient(), metrics };
}

function trainedTokens(batch: Batch): Trained[] {
  const trained: Trained[] = [];
  let sequence = 0;
  for (const group of batch) {
    const weighted = advantages(group);
    for (const [index, mask] of group.masks.entries()) {
      for (let position = 1; position < mask.length; position++) {
        if (mask[position] === NOT_TRAINED) continue;
        const logprob = group.inference_logprobs?.[index]?.[position] ?? 1;
        const advantage = weighted[index]?.[position] ?? 0;
        trained.push({ sequence, position, advantage, logprob: logprob > 0 ? null : logprob });
      }
      sequence += 1;
    }
  }
  return trained;
}

function checkVocabulary(sequences: readonly (readonly number[])[], vocabulary: number): void {
  for (const [index, sequence] of sequences.entries()) {
    const unknown = sequence.find((token) => token >= vocabulary);
    if (unknown === undefined) continue;
    throw new RangeError(
      `sequence ${index} of the batch has token ${unknown}, but the policy knows ${vocabulary}: another tokenizer made it`,
    );
  }
}
