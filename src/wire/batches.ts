import { z } from "zod";
import { onlyFields, wholeNumber } from "./fields.ts";
import { runName } from "./names.ts";

/** Messages about batches that are held, dropped groups, and forks. See docs/PROTOCOL.md. */

/** As a trainer calls itself, where there are several. */
export const trainerName = z
  .string()
  .regex(
    /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/,
    "a trainer's name has 1 to 128 letters, digits, dots, dashes and underscores",
  )
  .describe("who asks; another trainer's batch is refused");

export const batchId = z.object({ batch_id: wholeNumber("a batch's id", { min: 1 }) });
export const droppedList = z.object({
  dropped: z.array(
    z.object({
      group: z.int(),
      env_id: z.int().nullable(),
      reason: z.string(),
      sequences: z.int(),
      policy_version: z.int(),
      bytes: z.int(),
      at: z.int().meta({ description: "Unix milliseconds" }),
    }),
  ),
});
export const droppedQuery = z.object({ limit: wholeNumber("groups at most", { min: 1, max: 1_000 }).default(100) });
export const droppedId = z.object({ group: wholeNumber("a dropped group", { min: 1 }) });

export const forkBody = onlyFields({
  from: runName.describe("the run to begin from"),
  step: wholeNumber("the step to begin from; null for now", { min: 0 }).nullable().default(null),
});
export const forkAnswer = z.object({
  status: z.enum(["forked", "forking"]).meta({ description: '"forking": call again, it goes on' }),
  from: z.string(),
  step: z.int(),
  groups: z.int().meta({ description: "groups copied" }),
  remaining: z.int().meta({ description: "groups still to copy" }),
});

/** Who is done with a batch. */
const holder = {
  trainer: trainerName.nullable().default(null),
  hold: wholeNumber("the hold that came with the batch: refused if somebody has got the batch since", { min: 0 })
    .nullable()
    .default(null),
};

export const ackBody = onlyFields({
  step: wholeNumber("the trainer's own step", { min: 0 }).nullable().default(null),
  metrics: z.record(z.string().min(1).max(256), z.number()).default({}).describe("shown by /status?explain"),
  ...holder,
});

export const releaseBody = onlyFields(holder);

export const batchChange = z.object({
  status: z.enum(["acknowledged", "released"]),
  batch_id: z.int(),
  repeated: z.boolean(),
});
export type BatchChange = z.infer<typeof batchChange>;
