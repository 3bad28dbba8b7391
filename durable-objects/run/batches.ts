import { z } from "zod";
import { payloadAddress } from "../payloads.ts";

const batchGroup = payloadAddress.extend({
  age: z.int(),
  environment: z.int().nullable(),
  sequences: z.int(),
  policyVersion: z.int(),
});

/** A group of a batch: enough to serve it and to say later what was in the batch. */
export type BatchGroup = z.infer<typeof batchGroup>;
const batchGroups = z.array(batchGroup);

export interface Batch {
  readonly id: number;
  readonly step: number;
  readonly groups: readonly BatchGroup[];
  /** Until when its trainer may acknowledge it, in Unix milliseconds; 0 without a batch lease. */
  readonly leaseUntil: number;
}

type BatchRow = { id: number; step: number; lease_until: number };

/** Groups listed in one row: about 1 MB of JSON. */
const GROUPS_PER_PART = 8_000;

/** Batches that were handed out, until their payloads are let go. */
export class Batches {
  readonly #sql: SqlStorage;
  readonly #open = new Map<number, Batch>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    for (const batch of this.#read("SELECT * FROM batch WHERE delivered = 0 ORDER BY id"))
      this.#open.set(batch.id, batch);
  }

  /** Batches of which the last byte hasn't left yet, oldest first. */
  get open(): ReadonlyMap<number, Batch> {
    return this.#open;
  }

  add(batch: Batch): void {
    this.#sql.exec(
      "INSERT INTO batch (id, step, delivered, lease_until) VALUES (?, ?, 0, ?)",
      batch.id,
      batch.step,
      batch.leaseUntil,
    );
    for (let part = 0; part * GROUPS_PER_PART < batch.groups.length; part++) {
      const groups = batch.groups.slice(part * GROUPS_PER_PART, (part + 1) * GROUPS_PER_PART);
      this.#sql.exec(
        "INSERT INTO batch_part (batch, part, groups) VALUES (?, ?, ?)",
        batch.id,
        part,
        JSON.stringify(groups),
      );
    }
    this.#open.set(batch.id, batch);
  }

  /** Returns whether this changed anything: a second report of one delivery doesn't. */
  delivered(id: number): boolean {
    if (!this.#open.delete(id)) return false;
    this.#sql.exec("UPDATE batch SET delivered = 1 WHERE id = ?", id);
    return true;
  }

  /** Gives an open batch a lease until then, or takes it away (0). Returns the batch as it is now. */
  lease(batch: Batch, until: number): Batch {
    if (batch.leaseUntil === until) return batch;
    const leased = { ...batch, leaseUntil: until };
    this.#sql.exec("UPDATE batch SET lease_until = ? WHERE id = ?", until, batch.id);
    this.#open.set(batch.id, leased);
    return leased;
  }

  /** Some of the delivered batches whose payloads are still stored. */
  toDiscard(): Batch[] {
    return this.#read("SELECT * FROM batch WHERE delivered = 1 ORDER BY id LIMIT 4");
  }

  forget(id: number): void {
    this.#sql.exec("DELETE FROM batch WHERE id = ?", id);
    this.#sql.exec("DELETE FROM batch_part WHERE batch = ?", id);
  }

  #read(query: string): Batch[] {
    const rows = this.#sql.exec<BatchRow>(query).toArray();
    return rows.map(({ id, step, lease_until: leaseUntil }) => {
      const parts = this.#sql
        .exec<{ groups: string }>("SELECT groups FROM batch_part WHERE batch = ? ORDER BY part", id)
        .toArray();
      return { id, step, leaseUntil, groups: parts.flatMap(({ groups }) => batchGroups.parse(JSON.parse(groups))) };
    });
  }
}
