import { z } from "zod";
import { defineReward } from "./define.ts";

/**
 * Where a sentence or line starts, words that begin a step: a number ("Step 2", "2."), a bullet, or an ordinal or
 * connective ("First", "Next", "Therefore").
 */
const STEP =
  /(?:^|\n|[.!?:]\s|>)[ \t]{0,8}(?:step\s\d|\d{1,3}[.)]\s|[-*•]\s|(?:first|second|third|fourth|fifth|next|then|now|after that|therefore|thus|so|hence|finally|lastly)(?:ly)?\b)/gi;

/** The share of the wanted reasoning steps that a completion shows, at most 1; 0 below the least number of words. */
export const reasoningSteps = defineReward(
  z.strictObject({
    min_words: z.int().nonnegative().default(10).describe("Words below which nothing counts as reasoning"),
    min_steps: z.int().positive().default(3).describe("Steps that earn the whole reward"),
  }),
  ({ min_words, min_steps }) =>
    ({ text }) => {
      if ((text.match(/\S+/g) ?? []).length < min_words) return 0;
      return Math.min(1, (text.match(STEP) ?? []).length / min_steps);
    },
);
