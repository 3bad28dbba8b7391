import type { z } from "zod";
import { RewardError } from "./reward-error.ts";

export interface RewardedCompletion {
  readonly text: string;
  /** Sampled tokens, without the prompt's. */
  readonly tokens: number;
}

/** What reward functions look at: the whole group, so that one completion can be measured against the others. */
export interface RewardGroup {
  readonly completions: readonly RewardedCompletion[];
  /** The right answer, or a solution that ends in it; null for items that have none. */
  readonly answer: string | number | null;
  /** Token budget of one completion, if there is one. */
  readonly maxTokens?: number | undefined;
}

/** One score a completion, in the group's order. */
export type RewardFunction = (group: RewardGroup) => number[];

/** A kind of reward function: makes one from parameters, which it validates. */
export interface RewardDefinition {
  /** Validates the parameters (`name` and `weight` are taken off before) and turns them into a function of weight 1. */
  readonly schema: z.ZodType<(name: string) => RewardFunction>;
}

/** Scores one completion; the group is there for its answer and budget. */
export type CompletionScorer = (completion: RewardedCompletion, group: RewardGroup) => number;

/**
 * Defines a reward function that looks at one completion at a time. An exception, or a score that is not finite, is a
 * {@link RewardError} that names the completion.
 * @example
 * register("short", defineReward(z.strictObject({ below: z.int().default(50) }), ({ below }) =>
 *   (completion) => (completion.tokens < below ? 1 : 0)));
 */
export function defineReward<Schema extends z.ZodType>(
  parameters: Schema,
  scorer: (parameters: z.output<Schema>) => CompletionScorer,
): RewardDefinition {
  return defineGroupReward(parameters, (values, name) => {
    const score = scorer(values);
    return (group) => group.completions.map((completion, index) => scoreOne(name, score, completion, group, index));
  });
}

/** Defines a reward function that looks at the whole group. */
export function defineGroupReward<Schema extends z.ZodType>(
  parameters: Schema,
  build: (parameters: z.output<Schema>, name: string) => RewardFunction,
): RewardDefinition {
  return {
    schema: parameters.transform((values) => (name: string) => checked(name, build(values, name))),
  };
}

function scoreOne(
  name: string,
  score: CompletionScorer,
  completion: RewardedCompletion,
  group: RewardGroup,
  index: number,
): number {
  try {
    return score(completion, group);
  } catch (error) {
    throw new RewardError(name, index, error);
  }
}

/** Never lets a failure pass for a score. */
function checked(name: string, compute: RewardFunction): RewardFunction {
  return (group) => {
    const scores = attempt(name, () => compute(group));
    if (scores.length !== group.completions.length) {
      const message = `gave ${scores.length} scores for ${group.completions.length} completions`;
      throw new RewardError(name, null, new Error(message));
    }
    const odd = scores.findIndex((score) => !Number.isFinite(score));
    if (odd !== -1) throw new RewardError(name, odd, new Error(`gave ${scores[odd]}, which is no finite number`));
    return scores;
  };
}

function attempt<T>(name: string, compute: () => T): T {
  try {
    return compute();
  } catch (error) {
    throw error instanceof RewardError ? error : new RewardError(name, null, error);
  }
}
