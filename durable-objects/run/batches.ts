import { z } from "zod";
import { payloadAddress } from "../payloads.ts";

const batchGroup = payloadAddress.extend({
  age: z.int(),
  // Any number: what was stored once must be readable for ever.
  environment: z.number().nullable(),
  sequences: z.int(),
  policyVersion: z.int(),
});

/** A group of a batch: enough to serve it and to say later what was in the batch. */
export type BatchGroup = z.infer<typeof batchGroup>;
const batchGroups = z.array(batchGroup);

/** Who holds a batch, and which slices of it have been taken. */
export interface Hold {
  /** Until when it may be acknowledged, in Unix milliseconds; 0 without a batch lease. */
  readonly leaseUntil: number;
  /** As the trainer calls itself; null if it doesn't. */
  readonly trainer: string | null;
  /** Slices the batch is handed out in, one a rank. */
  readonly worldSize: number;
  /** Those that have been taken. */
  readonly ranks: readonly number[];
}

const NO_HOLD: Hold = { leaseUntil: 0, trainer: null, worldSize: 1, ranks: [] };

export interface Batch extends Hold {
  readonly id: number;
  readonly step: number;
  readonly groups: readonly BatchGroup[];
  /** Grows when somebody else gets to hold it, or nobody: what is said of an earlier hold counts no more. */
  readonly epoch: number;
  /** A rewind has opened it again, and nobody has got it since: an ack that comes now is of before. */
  readonly rewound: boolean;
  /** When it was rewound, given back or left by a leased stream that broke, in Unix milliseconds; null once somebody has it. */
  readonly leftAt: number | null;
  /** The epoch whose holder gave it back, the last that did; or null. */
  readonly givenBack: number | null;
}

/** A batch that was delivered and is kept for a while. */
interface KeptBatch {
  readonly id: number;
  readonly step: number;
  readonly bytes: number;
}

/** How long delivered batches are kept. */
export interface Retention {
  /** The run's. */
  readonly step: number;
  readonly steps: number;
  readonly bytes: number;
}

type BatchRow = {
  id: number;
  step: number;
  lease_until: number;
  trainer: string | null;
  world_size: number;
  ranks: string;
  epoch: number;
  rewound: number;
  left_at: number | null;
  given_back: number | null;
};

/** Groups listed in one row: about 1 MB of JSON. */
const GROUPS_PER_PART = 8_000;

/** Batches read at a time. */
const PER_ROUND = 4;

/** What becomes of a batch, as `delivered` in its row says. */
const OPEN = 0;
const KEPT = 1;
/** Its payloads are being let go: it is no longer there for anybody. */
const LEAVING = 2;

/** Batches that were handed out, until their payloads are let go. */
export class Batches {
  readonly #sql: SqlStorage;
  #open: Map<number, Batch>;
  /** In the order of their ids. */
  #kept: KeptBatch[];
  #endedAt = 0;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    this.#open = this.#readOpen();
    this.#kept = this.#readKept();
  }

  /** Batches that wait for their last byte to leave, or for an ack, oldest first. */
  get open(): ReadonlyMap<number, Batch> {
    return this.#open;
  }

  /** When a batch was last delivered or acknowledged, in Unix milliseconds; 0 if none was since the object began. */
  get endedAt(): number {
    return this.#endedAt;
  }

  /** The lowest step from which on every batch is still there, given the run's. */
  keptFrom(step: number): number {
    const steps = new Set([...this.#kept, ...this.#open.values()].map((batch) => batch.step));
    let from = step;
    while (steps.has(from)) from -= 1;
    return from + 1;
  }

  add(batch: Batch): void {
    this.#sql.exec(
      `INSERT INTO batch (id, step, delivered, lease_until, trainer, world_size, ranks, bytes)
       VALUES (?, ?, ${OPEN}, ?, ?, ?, ?, ?)`,
      batch.id,
      batch.step,
      batch.leaseUntil,
      batch.trainer,
      batch.worldSize,
      JSON.stringify(batch.ranks),
      bytesOf(batch.groups),
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
  delivered(id: number, now: number): boolean {
    const batch = this.#open.get(id);
    if (batch === undefined) return false;
    this.#endedAt = now;
    this.#open.delete(id);
    this.#sql.exec("UPDATE batch SET delivered = ? WHERE id = ?", KEPT, id);
    this.#kept.push({ id, step: batch.step, bytes: bytesOf(batch.groups) });
    this.#kept.sort((a, b) => a.id - b.id);
    return true;
  }

  /** Another hold on an open batch. Returns the batch as it is now. */
  hold(batch: Batch, hold: Hold): Batch {
    return this.#update({ ...batch, ...hold, epoch: batch.epoch + 1, rewound: false, leftAt: null });
  }

  /** Nobody holds an open batch any more, as its holder gave it back or it broke off. Returns the batch as it is now. */
  leave(batch: Batch, now: number, isGivenBack: boolean): Batch {
    const { epoch } = batch;
    const givenBack = isGivenBack ? epoch : batch.givenBack;
    return this.#update({ ...batch, ...NO_HOLD, epoch: epoch + 1, rewound: false, leftAt: now, givenBack });
  }

  /** The same hold, with other slices taken or a later end. Returns the batch as it is now. */
  extend(batch: Batch, change: Partial<Pick<Hold, "leaseUntil" | "ranks">>): Batch {
    return this.#update({ ...batch, ...change });
  }

  /** A batch that is open or kept, or null. */
  get(id: number): Batch | null {
    return (
      this.#open.get(id) ?? this.#read("SELECT * FROM batch WHERE id = ? AND delivered < ?", id, LEAVING)[0] ?? null
    );
  }

  /**
   * Some of the delivered batches that have been kept long enough, oldest first. They are no longer kept when this returns:
   * their payloads are let go in calls that take a while, and a rewind that came meanwhile must not open them.
   */
  toDiscard({ step, steps, bytes }: Retention): Batch[] {
    let sum = 0;
    const over: number[] = [];
    for (const batch of this.#kept.toReversed()) {
      sum += batch.bytes;
      if (batch.step <= step - steps || sum > bytes) over.push(batch.id);
    }
    for (const id of over.toReversed().slice(0, PER_ROUND)) {
      this.#sql.exec("UPDATE batch SET delivered = ? WHERE id = ?", LEAVING, id);
      this.#kept = this.#kept.filter((batch) => batch.id !== id);
    }
    // Those of a round that broke off first.
    return this.#read("SELECT * FROM batch WHERE delivered = ? ORDER BY id LIMIT ?", LEAVING, PER_ROUND);
  }

  forget(id: number): void {
    this.#sql.exec("DELETE FROM batch WHERE id = ?", id);
    this.#sql.exec("DELETE FROM batch_part WHERE batch = ?", id);
  }

  /**
   * Opens every batch after a step again, and returns their ids. Call it within a transaction, after {@link keptFrom} has said
   * that it can.
   */
  rewind(step: number, now: number): number[] {
    this.#sql.exec(
      `UPDATE batch SET delivered = ${OPEN}, lease_until = 0, trainer = NULL, world_size = 1, ranks = '[]',
         epoch = epoch + 1, rewound = 1, left_at = ?
       WHERE step > ? AND delivered < ${LEAVING}`,
      now,
      step,
    );
    this.#open = this.#readOpen();
    this.#kept = this.#readKept();
    return [...this.#open.values()].filter((batch) => batch.step > step).map(({ id }) => id);
  }

  /** Batches after a step, from this id on, in order; read one at a time. */
  *after(step: number, from: number): Generator<Batch> {
    const query = "SELECT id FROM batch WHERE step > ? AND id >= ? AND delivered < ? ORDER BY id";
    const ids = this.#sql.exec<{ id: number }>(query, step, from, LEAVING).toArray();
    for (const { id } of ids) yield* this.#read("SELECT * FROM batch WHERE id = ?", id);
  }

  /** Groups of all batches after a step. */
  groupsAfter(step: number): number {
    const query = `SELECT COALESCE(SUM(json_array_length(groups)), 0) AS groups FROM batch_part
      WHERE batch IN (SELECT id FROM batch WHERE step > ? AND delivered < ?)`;
    return this.#sql.exec<{ groups: number }>(query, step, LEAVING).one().groups;
  }

  #update(batch: Batch): Batch {
    this.#sql.exec(
      `UPDATE batch SET lease_until = ?, trainer = ?, world_size = ?, ranks = ?, epoch = ?, rewound = ?, left_at = ?,
         given_back = ?
       WHERE id = ?`,
      batch.leaseUntil,
      batch.trainer,
      batch.worldSize,
      JSON.stringify(batch.ranks),
      batch.epoch,
      batch.rewound ? 1 : 0,
      batch.leftAt,
      batch.givenBack,
      batch.id,
    );
    this.#open.set(batch.id, batch);
    return batch;
  }

  #readOpen(): Map<number, Batch> {
    return new Map(
      this.#read("SELECT * FROM batch WHERE delivered = ? ORDER BY id", OPEN).map((batch) => [batch.id, batch]),
    );
  }

  #readKept(): KeptBatch[] {
    type Row = { id: number; step: number; bytes: number };
    return this.#sql.exec<Row>("SELECT id, step, bytes FROM batch WHERE delivered = ? ORDER BY id", KEPT).toArray();
  }

  #read(query: string, ...bindings: number[]): Batch[] {
    const rows = this.#sql.exec<BatchRow>(query, ...bindings).toArray();
    return rows.map(({ id, step, trainer, epoch, ...row }) => {
      const parts = this.#sql
        .exec<{ groups: string }>("SELECT groups FROM batch_part WHERE batch = ? ORDER BY part", id)
        .toArray();
      const groups = parts.flatMap((part) => batchGroups.parse(JSON.parse(part.groups)));
      const ranks = rankList.parse(JSON.parse(row.ranks));
      const hold: Hold = { leaseUntil: row.lease_until, trainer, worldSize: row.world_size, ranks };
      const { left_at: leftAt, given_back: givenBack } = row;
      return { id, step, ...hold, epoch, rewound: row.rewound === 1, leftAt, givenBack, groups };
    });
  }
}

const rankList = z.array(z.int());

function bytesOf(groups: readonly BatchGroup[]): number {
  return groups.reduce((sum, { bytes }) => sum + bytes, 0);
}
