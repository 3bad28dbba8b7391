import { z } from "zod";
import { rewardSchema } from "./rewards/index.ts";

const fileUrl = z.url({
  protocol: /^(https?|r2)$/,
  error: "give an http or https address, or r2://BINDING/KEY for an object in a bucket",
});

/** Longest a group may take, in seconds: an invocation has 15 minutes, and what follows the group needs some of them. */
const LONGEST_ROLLOUT_SECONDS = 720;

/** What every environment can be told. An environment's own schema adds fields, or replaces some to set other defaults. */
export const baseConfig = z.strictObject({
  group_size: z.int().min(1).max(65_536).default(8).describe("rollouts of an item"),
  max_tokens: z.int().min(1).default(512).describe("new tokens of a turn at most"),
  max_token_length: z.int().min(2).default(2_048).describe("tokens of a sequence at most, prompt included"),
  temperature: z.number().min(0).default(1),
  top_p: z.number().gt(0).max(1).default(1),
  seed: z.int().min(0).default(0).describe("another seed, other items or another order of them"),
  weight: z.number().min(0).default(1).describe("share of the batches among the run's environments"),
  floor: z.number().min(0).max(1).nullable().default(null).describe("least share of every batch; null for none"),
  lease_sequences: z
    .int()
    .min(1)
    .max(65_536)
    .nullable()
    .default(null)
    .describe("sequences that one rollout lease may bring, over all its groups; null: group_size"),
  lease_seconds: z.int().min(1).max(3_600).default(600).describe("how long a rollout lease lasts"),
  rollout_timeout_seconds: z
    .number()
    .gt(0)
    .max(LONGEST_ROLLOUT_SECONDS)
    .default(300)
    .describe("how long generating and scoring a lease's groups may take"),
  concurrency: z.int().min(1).max(5).default(5).describe("groups at once in one invocation"),
  steps_per_eval: z.int().min(0).default(0).describe("steps between evaluations; 0 for none"),
  evaluation_handling: z
    .enum(["stop", "limit", "none"])
    .default("stop")
    .describe("what an evaluation does to training: stop it, limit it, or nothing"),
  evaluation_limit: z.number().min(0).max(1).default(0.5).describe("with limit: the share that is left to training"),
  eval_items: z.int().min(1).max(100_000).default(64).describe("held-out items of an evaluation"),
  eval_temperature: z.number().min(0).default(0).describe("0 is greedy"),
  renderer: z
    .union([z.literal("server"), z.strictObject({ tokenizer: fileUrl, template: fileUrl.nullable().default(null) })])
    .default("server")
    .describe(
      "who applies the chat template: the inference server, or a tokenizer.json (and tokenizer_config.json) from a URL or bucket",
    ),
  reward: z
    .json()
    .default(null)
    .superRefine((spec, context) => {
      const read = rewardSchema.safeParse(spec);
      if (spec === null || read.success) return;
      for (const { message, path } of read.error.issues) context.addIssue({ code: "custom", message, path });
    })
    .describe(
      "reward functions in place of the environment's own score: a name, or {name, weight, …}; null for its own",
    ),
  filters: z
    .strictObject({
      keep_equal_scores: z.boolean().default(false).describe("keep groups whose scores are all equal"),
      keep_longest: z.boolean().default(false).describe("keep groups with a sequence that reached max_token_length"),
      keep_partial: z.boolean().default(false).describe("keep groups that lost a rollout (stock rule: no)"),
      min_trained_tokens: z.int().min(0).default(1).describe("sequences with fewer trained tokens are dropped"),
    })
    .prefault({}),
});

export type BaseConfig = z.output<typeof baseConfig>;
export type BaseConfigInput = z.input<typeof baseConfig>;
