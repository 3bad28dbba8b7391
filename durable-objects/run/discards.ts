import type { PayloadAddress } from "../payloads.ts";
import type { Batches, Retention } from "./batches.ts";

/** How the Run reaches its shards. */
export interface ShardCalls {
  discard(shard: number, payloads: readonly { payload: number }[]): Promise<void>;
  discardThrough(shard: number, payload: number, commit: number): Promise<void>;
}

/** Payloads let go in one round, so that no call and no transaction grows without bound. */
const PER_ROUND = 5_000;

/**
 * Lets shards know which payloads will not be asked for again: what delivered batches held, what was refused, what a reset
 * swept away. Each is noted on disk first and forgotten after the shard has answered, so nothing is kept for ever.
 */
export class Discards {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(shard: number, payload: number): void {
    this.#sql.exec("INSERT INTO discard (shard, payload) VALUES (?, ?) ON CONFLICT DO NOTHING", shard, payload);
  }

  /** After a reset: all of a shard through this payload, as far as it came with this commit or before. */
  addThrough(shard: number, payload: number, commit: number): void {
    this.#sql.exec(
      `INSERT INTO discard_through (shard, payload, commit_sequence) VALUES (?1, ?2, ?3)
       ON CONFLICT (shard) DO UPDATE SET payload = ?2, commit_sequence = ?3`,
      shard,
      payload,
      commit,
    );
  }

  /**
   * Does one round of the work: delivered batches are kept as `retention` says, and `latest` is spared: GET /latest_example still shows it.
   * @returns whether there may be more to do at once.
   */
  async round(
    batches: Batches,
    retention: Retention,
    latest: PayloadAddress | null,
    calls: ShardCalls,
  ): Promise<boolean> {
    await this.#sweep(calls);
    const delivered = batches.toDiscard(retention);
    const isLatest = (shard: number, payload: number) => shard === latest?.shard && payload === latest.payload;
    const noted = this.#sql
      .exec<{ shard: number; payload: number }>("SELECT shard, payload FROM discard LIMIT ?", PER_ROUND)
      .toArray()
      .filter(({ shard, payload }) => !isLatest(shard, payload));
    const held = delivered.flatMap((batch) => batch.groups);
    const byShard = Map.groupBy(
      [...noted, ...held.filter((group) => !isLatest(group.shard, group.payload))],
      ({ shard }) => shard,
    );
    for (const [shard, payloads] of byShard)
      await calls.discard(
        shard,
        payloads.map(({ payload }) => ({ payload })),
      );
    for (const { shard, payload } of noted) {
      this.#sql.exec("DELETE FROM discard WHERE shard = ? AND payload = ?", shard, payload);
    }
    for (const { shard, payload } of held) if (isLatest(shard, payload)) this.add(shard, payload);
    for (const { id } of delivered) batches.forget(id);
    return delivered.length > 0 || noted.length > 0;
  }

  async #sweep(calls: ShardCalls): Promise<void> {
    type Sweep = { shard: number; payload: number; commit_sequence: number };
    for (const sweep of this.#sql
      .exec<Sweep>("SELECT shard, payload, commit_sequence FROM discard_through")
      .toArray()) {
      const { shard, commit_sequence } = sweep;
      await calls.discardThrough(shard, sweep.payload, commit_sequence);
      this.#sql.exec("DELETE FROM discard_through WHERE shard = ? AND commit_sequence = ?", shard, commit_sequence);
    }
  }
}
