import { type GroupRow, type KeptGroup, keptGroup } from "./queue.ts";

/** How long a dropped group can be looked at, how many of them at most, and how much text of them. */
const KEPT_MS = 3_600_000;
const MAX_KEPT = 1_000;
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** The same as a part of what an object's disk may hold: nobody's groups are refused because of them. */
const MAX_KEPT_SHARE = 0.01;

/** A group that left the run for no batch. */
export interface DroppedGroup extends KeptGroup {
  readonly reason: string;
  /** Unix milliseconds. */
  readonly at: number;
}

type Row = GroupRow & { reason: string; at: number };

/** Groups that were dropped, kept for a while so that somebody can see what they were. */
export class DroppedGroups {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(group: KeptGroup, reason: string, at: number): void {
    this.#sql.exec(
      `INSERT INTO dropped_group
       (age, environment, sequences, tokens, policy_version, shard, payload, rows, bytes, reason, at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      group.age,
      group.environment,
      group.sequences,
      group.tokens,
      group.policyVersion,
      group.shard,
      group.payload,
      group.rows,
      group.bytes,
      reason,
      at,
    );
  }

  /** Newest first. */
  list(limit: number): DroppedGroup[] {
    return this.#read("SELECT * FROM dropped_group ORDER BY age DESC LIMIT ?", limit);
  }

  get(age: number): DroppedGroup | null {
    return this.#read("SELECT * FROM dropped_group WHERE age = ?", age)[0] ?? null;
  }

  /**
   * Forgets those that have been kept long enough, and the oldest of those that are too many or have too much text, of
   * which `diskLimit` says how much a disk may hold. Returns them: their payloads are to be let go.
   */
  expire(now: number, diskLimit: number): DroppedGroup[] {
    return this.#forget(
      this.#read(
        `SELECT * FROM dropped_group WHERE at <= ?1
           OR age <= (SELECT age FROM dropped_group ORDER BY age DESC LIMIT 1 OFFSET ?2)
           OR age IN (SELECT age FROM (SELECT age, SUM(bytes) OVER (ORDER BY age DESC) AS sum FROM dropped_group)
                      WHERE sum > ?3)`,
        now - KEPT_MS,
        MAX_KEPT,
        Math.min(MAX_KEPT_BYTES, diskLimit * MAX_KEPT_SHARE),
      ),
    );
  }

  /** Forgets those whose payload a shard holds, and returns them: its disk is full. */
  forgetShard(shard: number): DroppedGroup[] {
    return this.#forget(this.#read("SELECT * FROM dropped_group WHERE shard = ?", shard));
  }

  /** When the next one has been kept long enough, in Unix milliseconds; null if there is none. */
  nextExpiry(): number | null {
    const { at } = this.#sql.exec<{ at: number | null }>("SELECT MIN(at) AS at FROM dropped_group").one();
    return at === null ? null : at + KEPT_MS;
  }

  #forget(groups: DroppedGroup[]): DroppedGroup[] {
    for (const { age } of groups) this.#sql.exec("DELETE FROM dropped_group WHERE age = ?", age);
    return groups;
  }

  #read(query: string, ...bindings: number[]): DroppedGroup[] {
    return this.#sql
      .exec<Row>(query, ...bindings)
      .toArray()
      .map((row) => keptGroup(row));
  }
}
