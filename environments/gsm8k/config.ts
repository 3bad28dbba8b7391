import { z } from "zod";
import { ANSWER_SOURCES, thinkingOpened } from "../kit/answers/index.ts";
import { baseConfig } from "../kit/base-config.ts";

const address = z.url({
  protocol: /^https?$/,
  error: 'give "generated", or the http or https address of a JSONL file',
});
const source = z.union([z.literal("generated"), address]);

/** The stock rule: sequences with fewer trained tokens are dropped. */
const MIN_TRAINED_TOKENS = 10;

/** What this environment adds to the settings that every environment has, or sets other defaults for. */
export const own = z.strictObject({
  max_tokens: z.int().min(1).default(2_048).describe("token budget of an answer"),
  filters: baseConfig.shape.filters
    .unwrap()
    .extend({
      min_trained_tokens: z
        .int()
        .min(0)
        .default(MIN_TRAINED_TOKENS)
        .describe("sequences with fewer trained tokens are dropped; 1 for a model that answers in a word"),
    })
    .prefault({}),
  source: source.default("generated").describe("where items come from: generated, or GSM8K JSONL at an address"),
  evaluation_source: source.default("generated").describe("where held-out items come from, likewise"),
  difficulty: z
    .enum(["tiny", "grade_school"])
    .default("grade_school")
    .describe(
      "of generated items: tiny is one short sentence with two numbers, from a vocabulary of a few dozen words",
    ),
  largest_number: z
    .int()
    .min(6)
    .max(1_000_000)
    .nullable()
    .default(null)
    .describe("largest number in a generated item, its answer included; null: 9 for tiny, else 200"),
  steps: z
    .tuple([z.int().min(1).max(4), z.int().min(1).max(4)])
    .refine(([least, most]) => least <= most, "give the least number of steps first, then the most")
    .default([1, 4])
    .describe("least and most steps of a generated item; tiny ones have one"),
  sources: z
    .array(z.enum(ANSWER_SOURCES))
    .min(1)
    .default(["boxed", "number"])
    .describe("where an answer may stand, in the order tried"),
  length_penalty_from: z
    .number()
    .min(0)
    .lt(1)
    .default(0.5)
    .describe("when a whole group is right: the share of max_tokens above which its scores fall"),
  thinking_opened: thinkingOpened,
  system_prompt: z
    .string()
    .nullable()
    .default(null)
    .describe("what the model is told first; empty for nothing, null for the usual text (for tiny: nothing)"),
});

export type Gsm8kConfig = z.output<typeof own> & {
  /** Another seed, other items and another order. */
  readonly seed: number;
};

/** Settings that belong together. */
export const presets = {
  /** For a model of a few thousand parameters that reads a few dozen words and answers with a number. */
  tiny: { difficulty: "tiny", max_tokens: 8, max_token_length: 64, filters: { min_trained_tokens: 1 } },
} as const;
