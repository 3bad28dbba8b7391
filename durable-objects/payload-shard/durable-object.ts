import { DurableObject } from "cloudflare:workers";
import { diskLimit } from "../disk.ts";
import { migrate } from "../migrations.ts";
import { shardOf } from "../names.ts";
import {
  type CommittedGroup,
  type Envelope,
  ROWS_PER_PAYLOAD,
  rowId,
  type StoredPayload,
  type Verdict,
} from "../payloads.ts";
import { Commits } from "./commits.ts";
import { deletePayloads, readRows, writeRow } from "./rows.ts";
import { migrations } from "./schema.ts";
import { Upload } from "./uploads.ts";

/** A group that fits one row. */
export interface SmallGroup extends Envelope {
  /** As it is stored. */
  readonly row: Uint8Array;
  /** Length of its text. */
  readonly bytes: number;
}

/** Least time between two calls that ask the Run for room. */
const ASK_FOR_ROOM_EVERY_MS = 1_000;

/** How long a commit may stay unconfirmed before the shard looks after it unasked. */
const RESEND_AFTER_MS = 30_000;

/** Holds payload bytes of one run, and hands their envelopes to the Run once the bytes are durable. */
export class PayloadShard extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #commits: Commits;
  #nextPayload: number;
  #nextCommit: number;
  #alarmIsSet = false;
  #askedForRoomAt = 0;
  readonly #diskLimit: number;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#diskLimit = diskLimit(env);
    migrate(ctx.storage, migrations);
    this.#sql = ctx.storage.sql;
    type Counters = { next_payload: number; next_commit: number };
    const counters = this.#sql.exec<Counters>("SELECT next_payload, next_commit FROM shard").toArray()[0];
    this.#nextPayload = counters?.next_payload ?? 1;
    this.#nextCommit = counters?.next_commit ?? 1;
    // Uploads that were under way when the object died belong to nobody.
    this.#abandon(
      this.#sql.exec<{ payload: number }>("SELECT payload FROM upload WHERE commit_sequence IS NULL").toArray(),
    );
    const { run, shard } = shardOf(ctx.id);
    const commitCounters = { takeCommit: () => this.#nextCommit++, save: () => this.#saveCounters() };
    this.#commits = new Commits(ctx.storage, shard, commitCounters, (commit) => {
      this.#guardCommit();
      return env.RUN.getByName(run).commit(commit);
    });
  }

  /**
   * Stores the groups of one request and queues them, all or none. Returns a verdict a group, when both are durable.
   * A group that doesn't fit one row comes through {@link openUpload}.
   */
  async submit(groups: readonly SmallGroup[]): Promise<readonly Verdict[]> {
    if (this.#isFull()) return groups.map(() => ({ status: "disk_full" }));
    return this.#commits.add(groups.length, () =>
      groups.map(({ row, ...group }) => {
        const payload = this.#takePayload();
        writeRow(this.#sql, payload, 0, row);
        return { ...group, payload, rows: 1 };
      }),
    );
  }

  /** Begins a request that is larger than one row; null if the disk holds as much as it may. */
  openUpload(): Upload | null {
    if (this.#isFull()) return null;
    return new Upload({
      begin: () => {
        const payload = this.#takePayload();
        this.#sql.exec("INSERT INTO upload (payload) VALUES (?)", payload);
        return payload;
      },
      writeRow: (payload, row, bytes) => writeRow(this.#sql, payload, row, bytes),
      commit: (groups: readonly CommittedGroup[]) =>
        this.#commits.add(groups.length, (commit) => {
          for (const { payload } of groups) {
            this.#sql.exec("UPDATE upload SET commit_sequence = ? WHERE payload = ?", commit, payload);
          }
          return groups;
        }),
      abandon: (payloads) => this.#abandon(payloads.map((payload) => ({ payload }))),
    });
  }

  /** The rows with these ids, as they are stored; see {@link readRows}. The caller bounds their sum. */
  read(ids: readonly number[]): Uint8Array[] {
    return readRows(this.#sql, ids);
  }

  /** Lets go of payloads. Asking twice is the same as asking once. */
  discard(payloads: readonly Pick<StoredPayload, "payload">[]): void {
    deletePayloads(this.#sql, payloads);
  }

  /**
   * Lets go of every payload the Run had when it was reset: those up to `payload`, but not uploads that were committed
   * after its commit `commit` or are under way still. Those began early and so have low numbers.
   */
  discardThrough(payload: number, commit: number): void {
    // The divisor is part of the query: a bound number would be a float, and the division one of floats.
    const swept = this.#sql
      .exec<{ payload: number }>(
        `SELECT DISTINCT id / ${ROWS_PER_PAYLOAD} AS payload FROM payload_row WHERE id < ?1
         EXCEPT SELECT payload FROM upload WHERE commit_sequence IS NULL OR commit_sequence > ?2`,
        rowId(payload + 1, 0),
        commit,
      )
      .toArray();
    deletePayloads(this.#sql, swept);
  }

  override async alarm(): Promise<void> {
    this.#alarmIsSet = false;
    await this.#commits.resend();
  }

  #isFull(): boolean {
    if (this.#sql.databaseSize < this.#diskLimit) return false;
    this.#askForRoom();
    return true;
  }

  /** Lets the Run know that what nobody waits for has to go. */
  #askForRoom(): void {
    const now = Date.now();
    if (now < this.#askedForRoomAt + ASK_FOR_ROOM_EVERY_MS) return;
    this.#askedForRoomAt = now;
    const { run, shard } = shardOf(this.ctx.id);
    const asked = this.env.RUN.getByName(run).makeRoom(shard);
    // Whoever is refused next asks again.
    this.ctx.waitUntil(asked.catch(() => undefined));
  }

  #takePayload(): number {
    return this.#nextPayload++;
  }

  #saveCounters(): void {
    this.#sql.exec(
      `INSERT INTO shard (id, next_payload, next_commit) VALUES (0, ?1, ?2)
       ON CONFLICT (id) DO UPDATE SET next_payload = ?1, next_commit = ?2`,
      this.#nextPayload,
      this.#nextCommit,
    );
  }

  /** Makes sure that a commit is looked after even if this object dies and nobody calls it again. */
  #guardCommit(): void {
    if (this.#alarmIsSet) return;
    this.#alarmIsSet = true;
    void this.ctx.storage.setAlarm(Date.now() + RESEND_AFTER_MS);
  }

  #abandon(payloads: readonly Pick<StoredPayload, "payload">[]): void {
    deletePayloads(this.#sql, payloads);
  }
}
