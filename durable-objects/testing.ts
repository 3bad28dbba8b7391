import { env, runDurableObjectAlarm, runInDurableObject } from "cloudflare:test";
import { type MockInstance, vi } from "vitest";
import { z } from "zod";
import { ROWS_PER_PAYLOAD } from "./payloads.ts";
import type { Registration } from "./run/registration.ts";

/** What tests of the objects share. */

export const REGISTRATION: Registration = {
  wandb_group: null,
  wandb_project: null,
  batch_size: 4,
  max_token_len: 64,
  checkpoint_dir: "/ckpt",
  save_checkpoint_interval: 10,
  starting_step: 0,
  num_steps: 100,
  mixing: "fifo",
  payload_shards: 4,
  max_batches_offpolicy: 3,
  max_staleness: null,
  keep_steps: 0,
  keep_bytes: 1024 ** 3,
  max_queue_sequences: 1_000_000,
  max_queue_bytes: 1024 ** 3,
  deduplicate: false,
  filters: { equal_scores: false, min_mean_score: null, max_mean_score: null, max_sequence_length: null },
};

/** What an envelope says of a group beside its size, where a test doesn't care. */
export const PLAIN = {
  policyVersion: null,
  longest: 3,
  scores: { mean: 0.5, min: 0, max: 1 },
  lease: null,
  key: null,
} as const;

let runs = 0;

/** A run nobody has used, with its first shard. */
export function freshRun() {
  const name = `run-${runs++}`;
  return { run: env.RUN.getByName(name), shard: env.PAYLOAD_SHARD.getByName(`${name}/0`) };
}

export type RunStub = ReturnType<typeof freshRun>["run"];
export type ShardStub = ReturnType<typeof freshRun>["shard"];

/** Keys of the rows a shard stores, in order. */
export function rowsOf(shard: ShardStub): Promise<number[]> {
  return runInDurableObject(shard, (_instance, { storage }) =>
    storage.sql
      .exec<{ id: number }>("SELECT id FROM payload_row ORDER BY id")
      .toArray()
      .map(({ id }) => id),
  );
}

/** Numbers of the payloads a shard stores, in order. */
export async function payloadsOf(shard: ShardStub): Promise<number[]> {
  return [...new Set((await rowsOf(shard)).map((id) => Math.floor(id / ROWS_PER_PAYLOAD)))];
}

/** Begins an upload to a shard that has room. */
export async function openUpload(shard: ShardStub) {
  const upload = await shard.openUpload();
  if (upload === null) throw new Error("the shard is full");
  return upload;
}

/** Lets an object's alarm do what is due now. What is due later sets it again, so it is never done for good. */
export async function runAlarms(stub: RunStub | ShardStub): Promise<void> {
  for (let round = 0; round < 5; round++) await runDurableObjectAlarm(stub);
}

const entry = z.looseObject({ run: z.string(), event: z.string() });

/** What the log was told of a run. Objects of other tests may be at work too, by an alarm of theirs. */
export function toldOf(run: RunStub, log: MockInstance<typeof console.warn>): z.infer<typeof entry>[] {
  const entries = log.mock.calls.flatMap(([fields]) => entry.safeParse(fields).data ?? []);
  return entries.filter((told) => told.run === run.name);
}

/** The clock goes on: the objects' too, as tests and they share one isolate. Call `vi.useFakeTimers({ toFake: ["Date"] })` first. */
export function later(milliseconds: number): void {
  vi.setSystemTime(Date.now() + milliseconds);
}
