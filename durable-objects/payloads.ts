import { z } from "zod";

/**
 * What a PayloadShard and its Run tell each other about payloads. The bytes stay in the shard; the Run sees these alone.
 */

/**
 * Largest row of a payload, and how much text goes into one. Production refuses rows above 2 MB (local workerd does not), and a reader holds a few
 * rows at once.
 */
export const ROW_BYTES = 1024 * 1024;

/** A payload has at most this many rows, so that one integer can name a row: see {@link rowId}. */
export const ROWS_PER_PAYLOAD = 4096;

const count = z.int().nonnegative();

const storedPayload = z.object({
  /** Unique within the shard, never used again. */
  payload: count,
  /** Number of rows; each but the last holds {@link ROW_BYTES} of text. */
  rows: count,
  /** Length of the text in bytes. */
  bytes: count,
});

/** A payload's place within its shard. */
export type StoredPayload = z.infer<typeof storedPayload>;

/** A payload's place within its run. */
export const payloadAddress = storedPayload.extend({ shard: count });
export type PayloadAddress = z.infer<typeof payloadAddress>;

const scoreSummary = z.object({ mean: z.number(), min: z.number(), max: z.number() });

/** Of a group's scores, one a sequence. */
export type ScoreSummary = z.infer<typeof scoreSummary>;

const copied = z.object({
  /** Resets of the run it is copied to, before the fork: a copy that comes after the next one belongs to no fork. */
  life: count,
  /** The batch it is in, in the run that is forked; null for that run's queue. */
  batch: z.int().nullable(),
  /** Its place in the batch, from 0; in the queue its age. */
  place: z.int(),
});

/** Of which group of another run a group is the copy. */
export type Copied = z.infer<typeof copied>;

/** A group's metadata. */
export interface Envelope {
  /** Null when the client named none, as Atropos clients may. */
  readonly environment: number | null;
  /** The group's size. */
  readonly sequences: number;
  /** Σ of the sequences' lengths. */
  readonly tokens: number;
  /** As the client said; null when it said nothing, and then the Run takes the step at arrival. */
  readonly policyVersion: number | null;
  /** Length of the longest sequence. */
  readonly longest: number;
  readonly scores: ScoreSummary;
  /** The rollout lease it was generated under, or null. All groups of a request have the same. */
  readonly lease: number | null;
  /** Tells the request if it comes again, or null. All groups of a request have the same. */
  readonly key: string | null;
  /** Where a fork has it from. It was judged there, so no filter drops it. All groups of a request have it, or none. */
  readonly copied?: Copied;
}

/** A group whose payload is stored and which the Run is asked to queue. */
const committedGroup = storedPayload.extend({
  // Any number: what was stored once must be readable for ever.
  environment: z.number().nullable(),
  sequences: count,
  tokens: count,
  policyVersion: z.int().nullable(),
  // Commits that an earlier release stored lack what follows.
  longest: count.default(0),
  scores: scoreSummary.default({ mean: 0, min: 0, max: 1 }),
  lease: z.int().nullable().default(null),
  key: z.string().nullable().default(null),
  copied: copied.exactOptional(),
});
export type CommittedGroup = z.infer<typeof committedGroup>;

/** [request][group], as a commit is kept until it is confirmed. */
export const committedRequests = z.array(z.array(committedGroup));

/** What became of one group. `repeated`: the request was taken before, and this is what it was told then. */
export type Verdict =
  | { readonly status: "received"; readonly repeated?: true }
  /** Smaller than its environment's group size: waits until such groups add up to it. */
  | { readonly status: "buffered"; readonly bufferedSequences: number; readonly repeated?: true }
  /** The run's filters keep it from trainers. */
  | { readonly status: "filtered"; readonly reason: string; readonly repeated?: true }
  /** The run holds as much as it may. */
  | { readonly status: "queue_full"; readonly message: string }
  /** The object's disk holds as much as it may. */
  | { readonly status: "disk_full" }
  | { readonly status: "larger_than_batch"; readonly sequences: number; readonly batchSize: number }
  /** The run tells requests by their contents, and this one came without their name. */
  | { readonly status: "contents_wanted" }
  /** A copy for a fork that is over: the run was reset meanwhile. */
  | { readonly status: "fork_is_over" }
  /** Another group of the same request was refused, and a request is taken whole or not at all. */
  | { readonly status: "refused_with_request" }
  /** The request's key came before with another request, of so many groups. */
  | { readonly status: "key_reused"; readonly groups: number }
  /** The rollout lease has ended in another way: `outcome` says how, "unknown" if it was never given out or long ago. */
  | { readonly status: "lease_is_over"; readonly lease: number; readonly outcome: string }
  /** The request holds more sequences than its rollout lease may bring. */
  | {
      readonly status: "larger_than_lease";
      readonly lease: number;
      readonly sequences: number;
      readonly allowed: number;
    };

/** One commit of a shard: the groups of each request, in the order in which they are queued. */
export interface Commit {
  readonly shard: number;
  /** 1, 2, 3, … within the shard, so that the Run can tell a commit that is sent again. */
  readonly sequence: number;
  readonly requests: readonly (readonly CommittedGroup[])[];
}

/** Whether a row is the first of its payload. */
export function isFirstRow(id: number): boolean {
  return id % ROWS_PER_PAYLOAD === 0;
}

/** The primary key of a payload's row. Rows of one payload are neighbours, in order. */
export function rowId(payload: number, row: number): number {
  return payload * ROWS_PER_PAYLOAD + row;
}
