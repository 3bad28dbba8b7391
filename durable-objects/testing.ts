import { env, runInDurableObject } from "cloudflare:test";
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
};

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
