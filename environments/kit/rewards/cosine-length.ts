import { z } from "zod";
import { defineReward } from "./define.ts";
import { accuracyParameters, isRight } from "./parameters.ts";

/**
 * Right answers earn more when they are short, wrong ones lose less when they are long (the cosine reward of "Demystifying
 * Long Chain-of-Thought Reasoning in LLMs"). With p = min(1, tokens / budget) and c = (1 + cos πp) / 2, which falls from 1 to
 * 0: a right answer scores min_right + (max_right − min_right) · c, and a wrong one
 * max_wrong − (max_wrong − min_wrong) · c.
 */
export const cosineLength = defineReward(
  z.strictObject({
    ...accuracyParameters,
    max_tokens: z.int().positive().optional().describe("Token budget; the environment's when not given"),
    min_right: z.number().default(0.5).describe("Score of a right answer that fills the budget"),
    max_right: z.number().default(1).describe("Score of a right answer of no length"),
    min_wrong: z.number().default(-1).describe("Score of a wrong answer of no length"),
    max_wrong: z.number().default(-0.5).describe("Score of a wrong answer that fills the budget"),
  }),
  (parameters) => (completion, group) => {
    const budget = parameters.max_tokens ?? group.maxTokens;
    if (budget === undefined) throw new Error("there is no token budget; set max_tokens");
    const { min_right, max_right, min_wrong, max_wrong } = parameters;
    const cosine = (1 + Math.cos(Math.PI * Math.min(1, completion.tokens / budget))) / 2;
    return isRight(completion, group, parameters)
      ? min_right + (max_right - min_right) * cosine
      : max_wrong - (max_wrong - min_wrong) * cosine;
  },
);
