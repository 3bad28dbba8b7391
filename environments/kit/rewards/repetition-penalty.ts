import { z } from "zod";
import { defineReward } from "./define.ts";

/** max_penalty · (1 − distinct n-grams / n-grams): 0 when no run of words comes twice, towards max_penalty for a loop. */
export const repetitionPenalty = defineReward(
  z.strictObject({
    ngram_size: z.int().positive().default(3).describe("Words of the runs compared"),
    max_penalty: z.number().nonpositive().default(-1).describe("Penalty that endless repetition approaches"),
  }),
  ({ ngram_size, max_penalty }) =>
    ({ text }) => {
      const words = text.toLowerCase().match(/\S+/g) ?? [];
      const count = words.length - ngram_size + 1;
      if (count <= 1) return 0;
      const distinct = new Set<string>();
      for (let i = 0; i < count; i++) distinct.add(words.slice(i, i + ngram_size).join(" "));
      // Adding 0 keeps -0 out of the scores.
      return max_penalty * (1 - distinct.size / count) + 0;
    },
);
