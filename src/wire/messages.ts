import { z } from "zod";
import { NO_FILTERS } from "../../durable-objects/run/filters.ts";
import {
  DEFAULT_BATCHES_OFFPOLICY,
  DEFAULT_KEEP_BYTES,
  DEFAULT_QUEUE_BYTES,
  DEFAULT_QUEUE_SEQUENCES,
  MAX_BATCH_SIZE,
  MAX_BATCHES_OFFPOLICY,
  MAX_KEEP_STEPS,
} from "../../durable-objects/run/registration.ts";
import { trainerName } from "./batches.ts";
import { finiteNumber, nullableText, onlyFields, text, wholeNumber } from "./fields.ts";
import { leasingFields } from "./rollouts.ts";

/** Bodies, queries and answers of the wire; scored groups alone are read by the scanner. See docs/PROTOCOL.md. */

const NAME_LENGTH = 256;
const PATH_LENGTH = 4096;

/** Most shards a run spreads its payloads over. */
const MAX_SHARDS = 64;

/** Longest a request for a batch may wait, in seconds. */
export const MAX_WAIT_SECONDS = 300;

/** Slices a batch is handed out in at most. */
export const MAX_WORLD_SIZE = 4_096;

/** Longest a trainer may hold a batch before it acknowledges it, in seconds. */
export const MAX_BATCH_LEASE_SECONDS = 86_400;

const filtersField = onlyFields({
  equal_scores: z.boolean().default(false).describe("drop groups whose scores are all equal"),
  min_mean_score: finiteNumber("drop groups with a lower mean score").nullable().default(null),
  max_mean_score: finiteNumber("drop groups with a higher mean score").nullable().default(null),
  max_sequence_length: wholeNumber("drop groups with a longer sequence, in tokens", { min: 1 })
    .nullable()
    .default(null),
})
  .superRefine(({ min_mean_score: min, max_mean_score: max }, context) => {
    if (min === null || max === null || min <= max) return;
    const message = `min_mean_score ${min} is above max_mean_score ${max}: no group could ever pass both`;
    context.addIssue({ code: "custom", path: ["min_mean_score"], input: min, message });
  })
  .default(NO_FILTERS)
  .describe("groups that are kept from trainers");

export const registerBody = z
  .object({
    wandb_group: nullableText("Weights & Biases group that environments log to", NAME_LENGTH),
    wandb_project: nullableText("Weights & Biases project; null when it is off", NAME_LENGTH),
    batch_size: wholeNumber("sequences of a batch", { min: 1, max: MAX_BATCH_SIZE }),
    max_token_len: wholeNumber("longest sequence the trainer takes, in tokens"),
    checkpoint_dir: text("where the trainer keeps its checkpoints", PATH_LENGTH),
    save_checkpoint_interval: wholeNumber("steps between checkpoints"),
    starting_step: wholeNumber("the step the run starts at"),
    num_steps: wholeNumber("the step at which environments stop"),
    mixing: z
      .enum(["fifo", "weighted"])
      .default("fifo")
      .describe("whose groups come first: the oldest, or those of the environment its weight owes most"),
    payload_shards: wholeNumber("objects the payloads are spread over", { min: 1, max: MAX_SHARDS }).optional(),
    max_batches_offpolicy: wholeNumber("batches that rollout leases may have queued and under way", {
      min: 1,
      max: MAX_BATCHES_OFFPOLICY,
    }).default(DEFAULT_BATCHES_OFFPOLICY),
    max_staleness: wholeNumber("groups that are staler, in steps, are dropped at hand-out; null for no bound", {
      min: 0,
    })
      .nullable()
      .default(null),
    keep_steps: wholeNumber("steps that delivered batches are kept for; default: save_checkpoint_interval", {
      min: 0,
      max: MAX_KEEP_STEPS,
    }).optional(),
    keep_bytes: wholeNumber("text of delivered batches that is kept", { min: 0 }).default(DEFAULT_KEEP_BYTES),
    max_queue_sequences: wholeNumber("queued sequences beyond which groups are refused for now", { min: 1 }).default(
      DEFAULT_QUEUE_SEQUENCES,
    ),
    max_queue_bytes: wholeNumber("queued text beyond which groups are refused for now", { min: 1 }).default(
      DEFAULT_QUEUE_BYTES,
    ),
    deduplicate: z
      .boolean()
      .default(false)
      .describe("tell a request without a key by its contents when it comes again"),
    filters: filtersField,
    resume_from_step: wholeNumber("the step of the checkpoint that the trainer goes on from", { min: 0 }).nullish(),
  })
  .superRefine(({ batch_size, max_queue_sequences }, context) => {
    if (max_queue_sequences >= batch_size) return;
    const message = `max_queue_sequences ${max_queue_sequences} is below batch_size ${batch_size}: the queue could never hold a batch`;
    context.addIssue({ code: "custom", path: ["max_queue_sequences"], input: max_queue_sequences, message });
  });

export const registerEnvironmentBody = z.object({
  max_token_length: wholeNumber("longest sequence the environment makes, in tokens"),
  desired_name: nullableText("its name; a number is added", NAME_LENGTH),
  weight: finiteNumber("its weight among the environments of the run"),
  group_size: wholeNumber("sequences of its groups", { min: 1, max: MAX_BATCH_SIZE }),
  min_batch_allocation: finiteNumber("its floor: the least share of every batch", { min: 0, max: 1 }).nullish(),
  ...leasingFields,
});

export const environmentId = z.object({ env_id: wholeNumber("the id register-env answered with", { min: 0 }) });

export const batchQuery = onlyFields({
  wait: finiteNumber("seconds to wait for a batch", { min: 0, max: MAX_WAIT_SECONDS }).optional(),
  lease: finiteNumber("seconds to hold the batch; it is served again unless acknowledged within them", {
    min: 1,
    max: MAX_BATCH_LEASE_SECONDS,
  }).optional(),
  trainer: trainerName.optional(),
  rank: wholeNumber("the rank whose slice of the batch is wanted", { min: 0, max: MAX_WORLD_SIZE - 1 }).optional(),
  world_size: wholeNumber("how many slices the batch has", { min: 1, max: MAX_WORLD_SIZE }).optional(),
});

export const statusQuery = z.object({
  explain: z.string().meta({ description: "any value but 0 and false: say why no batch is ready" }).optional(),
});

const nullable = (schema: z.ZodType) => schema.nullable();
const list = z.array(z.unknown());

/** A group as a trainer gets it: the 14 keys are always there, null where the environment sent nothing. */
export const group = z
  .looseObject({
    tokens: z.array(z.array(z.int())).meta({ description: "[sequence][position] token ids" }),
    masks: z.array(z.array(z.int())).meta({ description: "as tokens; -100 where the trainer must not learn" }),
    scores: z.array(z.number()).meta({ description: "[sequence]" }),
    advantages: nullable(z.array(z.array(z.number()))),
    ref_logprobs: nullable(z.array(z.array(z.number()))),
    messages: nullable(z.array(list)),
    generation_params: nullable(z.looseObject({})),
    inference_logprobs: nullable(z.array(z.array(z.number()))),
    overrides: nullable(z.array(z.looseObject({}))),
    group_overrides: nullable(z.looseObject({})),
    images: z.unknown(),
    env_id: nullable(z.int()),
    distill_token_ids: nullable(z.array(z.array(z.array(z.int())))),
    distill_logprobs: nullable(z.array(z.array(z.array(z.number())))),
  })
  .meta({ description: "the rollouts of one item, scored together" });

export const scoredData = group.partial().required({ tokens: true, masks: true, scores: true });

export const answers = {
  root: z.object({ message: z.string() }),
  health: z.object({ status: z.literal("ok") }),
  register: z.object({ uuid: z.number().meta({ description: "a 128-bit integer" }) }),
  info: z.object({ batch_size: z.int(), max_token_len: z.int() }),
  wandbInfo: z.object({ group: z.string().nullable(), project: z.string().nullable() }),
  registerEnvironment: z.union([
    z.object({
      status: z.literal("success"),
      env_id: z.int(),
      wandb_name: z.string(),
      checkpoint_dir: z.string(),
      starting_step: z.int(),
      checkpoint_interval: z.int(),
      num_steps: z.int(),
    }),
    z.object({ status: z.literal("wait for trainer to start") }),
  ]),
  disconnect: z.object({ status: z.enum(["success", "failure"]), error: z.string().optional() }),
  environmentStatus: z.object({
    current_step: z.int(),
    queue_size: z.int().meta({ description: "groups waiting, counted in the environment's own group size" }),
    unallocated_fraction: z.number(),
    self_queue_size: z.int(),
    max_group_size: z.int(),
    env_weight: z.number(),
  }),
  status: z.looseObject({
    current_step: z.int(),
    queue_size: z.int().meta({ description: "queued groups" }),
    explain: z.looseObject({ reason: z.string(), message: z.string() }).optional(),
  }),
  scoredData: z.union([
    z.object({ status: z.literal("received"), filtered: z.string().optional() }),
    z.object({ status: z.literal("buffered"), buffer_size: z.int().meta({ description: "sequences" }) }),
  ]),
  scoredDataList: z.object({
    status: z.literal("received"),
    groups_processed: z.int(),
    filtered: z.int().optional(),
    buffered: z.int().optional(),
    last_buffer_size: z.int().optional(),
  }),
  batch: z
    .object({
      batch: z.array(group).nullable().meta({ description: "null while none can be formed" }),
      batch_id: z.int().meta({ description: "of a batch with `lease`, as the fields below" }).optional(),
      step: z.int().optional(),
      lease_expires_at: z.int().meta({ description: "Unix milliseconds" }).optional(),
      hold: z.int().meta({ description: "for the ack: tells this hand-out from a later one" }).optional(),
      rank: z.int().meta({ description: "of a slice, as world_size" }).optional(),
      world_size: z.int().optional(),
    })
    .or(z.object({ status: z.literal("error"), message: z.string(), batch: list })),
  keptBatch: z.object({ batch: z.array(group), batch_id: z.int(), step: z.int() }),
  error: z.object({
    detail: z.union([z.string(), z.array(z.looseObject({ type: z.string(), loc: list, msg: z.string() }))]),
  }),
};
