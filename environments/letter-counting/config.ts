import { z } from "zod";
import { ANSWER_SOURCES, thinkingOpened } from "../kit/answers/index.ts";
import { TOP_LEVEL } from "./difficulty.ts";

/** What this environment adds to the settings that every environment has, or sets other defaults for. */
export const own = z.strictObject({
  max_tokens: z.int().min(1).default(2_048).describe("token budget of an answer"),
  start_level: z.int().min(1).max(TOP_LEVEL).default(1).describe("level of difficulty that a run starts at"),
  window: z.int().min(1).max(1_000).default(150).describe("groups whose mean scores decide whether the level moves"),
  too_easy: z
    .number()
    .min(0)
    .max(1)
    .default(0.8)
    .describe("a group whose mean score is above is dropped; above it on average, the level rises"),
  too_hard: z
    .number()
    .min(0)
    .max(1)
    .default(0.2)
    .describe("a group whose mean score is below is dropped; below it on average, the level falls"),
  present_share: z
    .number()
    .min(0)
    .max(1)
    .default(0.8)
    .describe("share of the letters asked for that the text contains"),
  sources: z
    .array(z.enum(ANSWER_SOURCES))
    .min(1)
    .default(["tag"])
    .describe("where an answer may stand, in the order tried: by the stock rule in the only <answer>"),
  thinking_opened: thinkingOpened,
  system_prompt: z
    .string()
    .nullable()
    .default(null)
    .describe("what the model is told first; empty for nothing, null for the usual text"),
});

export type LetterCountingConfig = z.output<typeof own> & {
  /** Another seed, other items. */
  readonly seed: number;
};
