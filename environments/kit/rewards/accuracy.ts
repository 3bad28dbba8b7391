import { z } from "zod";
import { defineReward } from "./define.ts";
import { accuracyParameters, formatParameters, isRight, isWellFormed } from "./parameters.ts";

/** 1 for the right answer, else 0. */
export const accuracy = defineReward(
  z.strictObject(accuracyParameters),
  (parameters) => (completion, group) => (isRight(completion, group, parameters) ? 1 : 0),
);

/** 1 for a well-formed completion, else 0. */
export const format = defineReward(
  z.strictObject(formatParameters),
  (parameters) => (completion) => (isWellFormed(completion, parameters) ? 1 : 0),
);

/** Format and accuracy, each with a weight of its own (DeepSeek-R1's rule). */
export const r1 = defineReward(
  z.strictObject({
    ...accuracyParameters,
    ...formatParameters,
    accuracy_weight: z.number().default(1).describe("Score of a right answer"),
    format_weight: z.number().default(0.5).describe("Score of a well-formed completion, right or not"),
  }),
  (parameters) => (completion, group) =>
    (isRight(completion, group, parameters) ? parameters.accuracy_weight : 0) +
    (isWellFormed(completion, parameters) ? parameters.format_weight : 0),
);

/** 1 for the right answer, and a bonus if it is well formed too; form alone earns nothing. */
export const cascading = defineReward(
  z.strictObject({
    ...accuracyParameters,
    ...formatParameters,
    format_bonus: z.number().default(0.5).describe("Added to a right answer that is well formed"),
  }),
  (parameters) => (completion, group) => {
    if (!isRight(completion, group, parameters)) return 0;
    return 1 + (isWellFormed(completion, parameters) ? parameters.format_bonus : 0);
  },
);
