import { Batches } from "./batches.ts";
import type { Discards } from "./discards.ts";
import { DroppedGroups } from "./dropped-groups.ts";
import { EnvironmentStatuses } from "./environment-status.ts";
import { Environments } from "./environments.ts";
import { ForkProgress } from "./fork-progress.ts";
import { HandOutRecord } from "./hand-out-record.ts";
import { IdempotencyKeys } from "./idempotency-keys.ts";
import { Queue } from "./queue.ts";
import { loadRollouts } from "./rollouts/parts.ts";
import { Shards } from "./shards.ts";
import { StallNotes } from "./stall-notes.ts";
import { RunState } from "./state.ts";

/** Tables that a reset empties. */
const FORGOTTEN_AT_RESET = [
  "environment",
  "queued_group",
  "batch",
  "batch_part",
  "discard",
  "follow_up",
  "waiting_item",
  "outcome",
  "evaluation",
  "environment_state",
  "environment_checkpoint",
  "idempotency_key",
  "dropped_group",
  "handed_out",
  "heard",
  "hunger",
  "fork",
] as const;

export type RunParts = ReturnType<typeof load>;

/** What a run consists of, as read from disk. */
export function load(sql: SqlStorage, now: number) {
  const state = new RunState(sql);
  const queue = new Queue(sql);
  const stallNotes = new StallNotes(sql, now);
  const environments = new Environments(sql, now, stallNotes);
  return {
    state,
    queue,
    environments,
    stallNotes,
    shards: new Shards(sql, state.firstAge),
    batches: new Batches(sql),
    handOutRecord: new HandOutRecord(sql),
    keys: new IdempotencyKeys(sql),
    droppedGroups: new DroppedGroups(sql),
    fork: new ForkProgress(sql, state.resets),
    statuses: new EnvironmentStatuses(environments, queue.index),
    ...loadRollouts(sql),
  };
}

/** Forgets trainer, environments, queue and batches on disk. What is in memory is void afterwards: load it anew. */
export function forget(sql: SqlStorage, { state, shards }: RunParts, discards: Discards): void {
  for (const { shard, payload, commit } of shards.progress()) discards.addThrough(shard, payload, commit);
  for (const table of FORGOTTEN_AT_RESET) sql.exec(`DELETE FROM ${table}`);
  // The last lease stays, so that ids go on: a group generated before the reset must not pass for one of after it.
  sql.exec("DELETE FROM rollout_lease WHERE id < (SELECT MAX(id) FROM rollout_lease)");
  sql.exec("UPDATE rollout_lease SET outcome = 'cancelled', closed_at = 0 WHERE outcome IS NULL");
  // How far commits have been taken must outlive the reset: one may be sent again after it.
  sql.exec("UPDATE shard SET latest = NULL");
  state.resets += 1;
  state.registration = null;
  state.step = 0;
  state.policyVersion = null;
  state.trainer = null;
  state.deficits = new Map();
  state.save(shards.nextAge);
}

/** Whether an earlier life of the object left something that its alarm has to do. */
export function isWorkLeft(sql: SqlStorage): boolean {
  const query = `SELECT EXISTS (SELECT 1 FROM discard) OR EXISTS (SELECT 1 FROM discard_through)
    OR EXISTS (SELECT 1 FROM batch) OR EXISTS (SELECT 1 FROM rollout_lease WHERE outcome IS NULL) AS work`;
  return sql.exec<{ work: number }>(query).one().work === 1;
}
