import type { z } from "zod";
import type { BaseConfig } from "../base-config.ts";
import { completionOf } from "../completion-of.ts";
import type { Environment } from "../define.ts";
import type { Score, ScoreContext, ScoredRollout } from "../definition.ts";
import type { ConfigOf } from "../read-config.ts";
import { reward } from "../rewards/index.ts";
import type { Rollout } from "../trajectory/index.ts";
import { during } from "./failure.ts";

/**
 * `[rollout]`: its score, by the environment's own rule or by the reward functions that the settings name; null where the
 * environment drops it.
 * @throws Failure
 */
export function scoresOf<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  { definition }: Environment<Own, Item, State, R>,
  { reward: spec, max_tokens: maxTokens }: BaseConfig,
  context: ScoreContext<ConfigOf<Own>, State, Item, R>,
): Promise<(ScoredRollout | null)[]> {
  const { item, rollouts } = context;
  return during("score", async () => {
    if (spec === null) return expectScores(await definition.score(context), rollouts.length);
    const answer = definition.answer?.(item) ?? null;
    return expectScores(reward(spec)({ completions: rollouts.map(completionOf), answer, maxTokens }), rollouts.length);
  });
}

function expectScores(scores: readonly Score[], rollouts: number): (ScoredRollout | null)[] {
  if (scores.length !== rollouts) {
    throw new RangeError(
      `score gave ${scores.length} scores for ${rollouts} rollouts; give one for each, null to drop it`,
    );
  }
  return scores.map((score, index) => {
    if (score === null) return null;
    const scored = typeof score === "number" ? { score } : score;
    if (Number.isFinite(scored.score)) return scored;
    throw new RangeError(`the score of rollout ${index} is ${scored.score}; give a finite number, or null to drop it`);
  });
}
