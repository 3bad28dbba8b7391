import { z } from "zod";
import { defineGroupReward, type RewardDefinition, type RewardFunction } from "./define.ts";

/**
 * The weighted sum of several reward functions, each with the weight of its own spec. Normalised by `sum` it is divided by
 * the sum of those weights' magnitudes, by `min-max` the group's scores are stretched to 0..1 (equal ones stay as they are).
 * @param part reads the spec of one part, and applies its weight.
 */
export function combined(part: z.ZodType<WeightedReward>): RewardDefinition {
  return defineGroupReward(
    z.strictObject({
      rewards: z.array(part).min(1).describe("The reward functions that are added up"),
      normalization: z.enum(["none", "sum", "min-max"]).default("none").describe("What is done to the weighted sum"),
    }),
    ({ rewards, normalization }) =>
      (group) => {
        const parts = rewards.map(({ compute }) => compute(group));
        const sums = group.completions.map((_, i) => parts.reduce((sum, scores) => sum + (scores[i] ?? Number.NaN), 0));
        if (normalization === "min-max") return stretch(sums);
        const weights = rewards.reduce((sum, { weight }) => sum + Math.abs(weight), 0);
        return normalization === "sum" && weights > 0 ? sums.map((sum) => sum / weights) : sums;
      },
  );
}

export interface WeightedReward {
  readonly weight: number;
  /** With the weight applied. */
  readonly compute: RewardFunction;
}

function stretch(scores: readonly number[]): number[] {
  const [low, high] = [Math.min(...scores), Math.max(...scores)];
  return high > low ? scores.map((score) => (score - low) / (high - low)) : [...scores];
}
