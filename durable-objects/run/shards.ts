import { type Commit, type PayloadAddress, payloadAddress, type Verdict } from "../payloads.ts";
import { readCommitVerdicts, writeCommitVerdicts } from "./verdicts.ts";

type ShardRow = {
  shard: number;
  commit_sequence: number;
  last_payload: number;
  next_age: number;
  verdicts: string | null;
  latest: string | null;
};

/** How far each shard's commits have been taken, and with them where ages stand and which payload came last. */
export class Shards {
  readonly #sql: SqlStorage;
  readonly #rows = new Map<number, ShardRow>();
  #nextAge: number;
  #latest: PayloadAddress | null = null;

  constructor(sql: SqlStorage, nextAge: number) {
    this.#sql = sql;
    this.#nextAge = nextAge;
    for (const row of sql.exec<ShardRow>("SELECT * FROM shard ORDER BY next_age")) {
      this.#rows.set(row.shard, row);
      this.#nextAge = Math.max(this.#nextAge, row.next_age);
      if (row.latest !== null) this.#latest = payloadAddress.parse(JSON.parse(row.latest));
    }
  }

  /** The age the next group gets: ages count the groups the run has ever taken. */
  get nextAge(): number {
    return this.#nextAge;
  }

  /** The payload of the group queued last. */
  get latest(): PayloadAddress | null {
    return this.#latest;
  }

  /** How far each shard has been taken: its highest payload number and its last commit. */
  *progress(): Generator<{ shard: number; payload: number; commit: number }> {
    for (const { shard, last_payload, commit_sequence } of this.#rows.values()) {
      yield { shard, payload: last_payload, commit: commit_sequence };
    }
  }

  /** The verdicts of a commit that was taken before and is sent again, or null for a new one. */
  verdictsIfTaken(commit: Commit): Verdict[][] | null {
    const row = this.#rows.get(commit.shard);
    if (row === undefined || commit.sequence > row.commit_sequence) return null;
    if (commit.sequence === row.commit_sequence && row.verdicts !== null) return readCommitVerdicts(row.verdicts);
    return commit.requests.map((groups) => groups.map(() => ({ status: "received" })));
  }

  takeAge(): number {
    return this.#nextAge++;
  }

  /** Notes that a commit was taken, in the transaction that takes it. */
  advance(commit: Commit, answers: readonly (readonly Verdict[])[], latest: PayloadAddress | null): void {
    const before = this.#rows.get(commit.shard);
    const payloads = commit.requests.flat().map((group) => group.payload);
    const allReceived = answers.flat().every((verdict) => verdict.status === "received" && verdict.repeated !== true);
    const row: ShardRow = {
      shard: commit.shard,
      commit_sequence: commit.sequence,
      last_payload: payloads.reduce((highest, payload) => Math.max(highest, payload), before?.last_payload ?? 0),
      next_age: this.#nextAge,
      verdicts: allReceived ? null : writeCommitVerdicts(answers),
      latest: latest === null ? (before?.latest ?? null) : JSON.stringify(latest),
    };
    this.#sql.exec(
      `INSERT INTO shard (shard, commit_sequence, last_payload, next_age, verdicts, latest) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
       ON CONFLICT (shard) DO UPDATE SET commit_sequence = ?2, last_payload = ?3, next_age = ?4, verdicts = ?5, latest = ?6`,
      row.shard,
      row.commit_sequence,
      row.last_payload,
      row.next_age,
      row.verdicts,
      row.latest,
    );
    this.#rows.set(commit.shard, row);
    if (latest !== null) this.#latest = latest;
  }
}
