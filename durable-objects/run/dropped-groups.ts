import { type GroupRow, type KeptGroup, keptGroup } from "./queue.ts";

/** How long a dropped group can be looked at, and how many of them at most. */
const KEPT_MS = 3_600_000;
const MAX_KEPT = 1_000;

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

  /** Forgets those that have been kept long enough, and returns them: their payloads are to be let go. */
  expire(now: number): DroppedGroup[] {
    const over = this.#read(
      `SELECT * FROM dropped_group WHERE at <= ?1
         OR age <= (SELECT age FROM dropped_group ORDER BY age DESC LIMIT 1 OFFSET ?2)`,
      now - KEPT_MS,
      MAX_KEPT,
    );
    for (const { age } of over) this.#sql.exec("DELETE FROM dropped_group WHERE age = ?", age);
    return over;
  }

  /** When the next one has been kept long enough, in Unix milliseconds; null if there is none. */
  nextExpiry(): number | null {
    const { at } = this.#sql.exec<{ at: number | null }>("SELECT MIN(at) AS at FROM dropped_group").one();
    return at === null ? null : at + KEPT_MS;
  }

  #read(query: string, ...bindings: number[]): DroppedGroup[] {
    return this.#sql
      .exec<Row>(query, ...bindings)
      .toArray()
      .map((row) => keptGroup(row));
  }
}
