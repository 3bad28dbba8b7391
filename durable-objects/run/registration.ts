import { z } from "zod";
import { filters, NO_FILTERS } from "./filters.ts";

/** Sequences a batch may have at most: the list of its groups goes to the Worker in one message, of 32 MiB at most. */
export const MAX_BATCH_SIZE = 65_536;

/** Batches that may be under way, unless the trainer says otherwise: as many as stock environments make. */
export const DEFAULT_BATCHES_OFFPOLICY = 3;
export const MAX_BATCHES_OFFPOLICY = 1_000;

export const MAX_KEEP_STEPS = 10_000;

const GIB = 1024 ** 3;

/** A batch is some hundred MB at most, and a checkpoint a few tens of steps away. */
export const DEFAULT_KEEP_BYTES = GIB;

/** The index of a queue takes about 50 bytes a group in memory, of 128 MB. */
export const DEFAULT_QUEUE_SEQUENCES = 1_000_000;

/** Of the 10 GB of each object that stores payloads. */
export const DEFAULT_QUEUE_BYTES = 8 * GIB;

/** What the first trainer of a run settles. Field names are the wire's. */
export const registration = z.object({
  wandb_group: z.string().nullable(),
  wandb_project: z.string().nullable(),
  batch_size: z.int().min(1).max(MAX_BATCH_SIZE),
  max_token_len: z.int(),
  checkpoint_dir: z.string(),
  save_checkpoint_interval: z.int(),
  starting_step: z.int(),
  num_steps: z.int(),
  mixing: z.enum(["fifo", "weighted"]),
  payload_shards: z.int().min(1).max(64),
  /** Queued and leased sequences never exceed this many batches through rollout leases. */
  max_batches_offpolicy: z.int().min(1).max(MAX_BATCHES_OFFPOLICY).default(DEFAULT_BATCHES_OFFPOLICY),
  /** Groups staler than this are dropped at hand-out; null for no bound. */
  max_staleness: z.int().min(0).nullable().default(null),
  /** Delivered batches are kept for this many steps, and no more text than this: a trainer can go back to them. */
  keep_steps: z.int().min(0).max(MAX_KEEP_STEPS).default(0),
  keep_bytes: z.int().min(0).default(DEFAULT_KEEP_BYTES),
  /** Beyond these groups without a lease are refused for now. */
  max_queue_sequences: z.int().min(1).default(DEFAULT_QUEUE_SEQUENCES),
  max_queue_bytes: z.int().min(1).default(DEFAULT_QUEUE_BYTES),
  /** Whether a request without a key or a lease is told by its contents when it comes again. */
  deduplicate: z.boolean().default(false),
  filters: filters.default(NO_FILTERS),
});

export type Registration = z.infer<typeof registration>;

/** The admission bound: sequences that may be queued and leased through rollout leases. */
export function admissionLimit({ max_batches_offpolicy, batch_size }: Registration): number {
  return max_batches_offpolicy * batch_size;
}

/** Whether the run has all its steps. Without a trainer, or a positive `num_steps`, it never has. */
export function hasAllSteps(registration: Registration | null, step: number): boolean {
  return registration !== null && registration.num_steps > 0 && step >= registration.num_steps;
}

/** The settings in which a trainer that joins differs from the run, in words; the run keeps its own. */
export function ignoredSettings(kept: Registration, asked: Registration): string[] {
  const keptEntries = new Map<string, unknown>(Object.entries(kept));
  return Object.entries(asked)
    .filter(([name, value]) => JSON.stringify(keptEntries.get(name)) !== JSON.stringify(value))
    .map(([name, value]) => `${name} stays ${JSON.stringify(keptEntries.get(name))} (asked: ${JSON.stringify(value)})`);
}
