import { type Adam, chatIds, decode, type Policy, Random, SPECIAL_ID, sample } from "../policy/index.ts";
import { meanOf } from "./advantages.ts";
import type { BatchInput } from "./batch.ts";
import type { LossOptions } from "./loss.ts";
import { trainStep } from "./step.ts";

/** A question with one right number. */
export interface Problem {
  readonly question: string;
  readonly value: number;
}

export interface OfflineOptions {
  readonly policy: Policy;
  readonly optimizer: Adam;
  /** Problem `index` of an endless series. */
  readonly problemAt: (index: number) => Problem;
  readonly steps: number;
  /** Groups a step. */
  readonly groups: number;
  readonly groupSize: number;
  readonly seed: number;
  /** How many steps a group waits before it is trained on. */
  readonly staleness?: number;
  /** Groups sampled for a step at most; those of equal scores teach nothing and are replaced, up to here. */
  readonly maxSampled?: number;
  readonly loss?: LossOptions;
}

export interface OfflineStep {
  /** Mean score of everything sampled for the step, dropped groups included. */
  readonly rewardMean: number;
  readonly sampledSequences: number;
}

const BOXED = /\\boxed\{(\d+)\}/;
const MAX_TOKENS = 8;

/**
 * The whole loop in one process, without servers: sample, score ±1, drop groups of equal scores, train. It shows what the
 * policy can learn, and how fast, apart from everything around it.
 */
export function learnOffline(options: OfflineOptions): OfflineStep[] {
  const { policy, optimizer, steps, groups, staleness = 0, maxSampled = 12 * groups } = options;
  const random = new Random(options.seed);
  const queue: BatchInput = [];
  let index = 0;
  return Array.from({ length: steps }, () => {
    const scores: number[] = [];
    let sampled = 0;
    while (queue.length < groups * (1 + staleness) && (sampled < maxSampled || queue.length === 0)) {
      const group = sampleGroup(policy, options.problemAt(index++), options.groupSize, random.seed());
      sampled += 1;
      scores.push(...group.scores);
      if (new Set(group.scores).size > 1) queue.push(group);
    }
    trainStep(policy, optimizer, queue.splice(0, groups), options.loss);
    return { rewardMean: scores.length > 0 ? meanOf(scores) : Number.NaN, sampledSequences: scores.length };
  });
}

function sampleGroup(policy: Policy, { question, value }: Problem, n: number, seed: number): BatchInput[number] {
  const prompt = chatIds([{ role: "user", content: question }], { addGenerationPrompt: true });
  const request = { prompt, n, maxTokens: MAX_TOKENS, temperature: 1, stopTokenIds: [SPECIAL_ID.end], seed };
  const sequences = sample(policy.model, policy, request);
  return {
    tokens: sequences.map(({ tokens }) => [...prompt, ...tokens]),
    masks: sequences.map(({ tokens }) => [...prompt.map(() => -100), ...tokens]),
    scores: sequences.map(({ tokens }) => (BOXED.exec(decode(tokens))?.[1] === String(value) ? 1 : -1)),
    inference_logprobs: sequences.map(({ logprobs }) => [...prompt.map(() => 1), ...logprobs]),
  };
}
