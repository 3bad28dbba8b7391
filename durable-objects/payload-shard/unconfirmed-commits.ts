import { type CommittedGroup, committedRequests } from "../payloads.ts";

/** Production refuses rows above 2 MB; local workerd does not. */
const PART_BYTES = 1024 * 1024;

/** Envelopes that the Run may not have yet, a commit's as JSON in as many rows as it takes. */
export class UnconfirmedCommits {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(sequence: number, requests: readonly (readonly CommittedGroup[])[]): void {
    const bytes = new TextEncoder().encode(JSON.stringify(requests));
    for (let part = 0; part * PART_BYTES < bytes.length; part++) {
      this.#sql.exec(
        "INSERT INTO commit_part (sequence, part, bytes) VALUES (?, ?, ?)",
        sequence,
        part,
        bytes.subarray(part * PART_BYTES, (part + 1) * PART_BYTES),
      );
    }
  }

  /** Numbers of the commits after one, in order. */
  after(sequence: number): number[] {
    return this.#sql
      .exec<{ sequence: number }>(
        "SELECT sequence FROM commit_part WHERE sequence > ? AND part = 0 ORDER BY sequence",
        sequence,
      )
      .toArray()
      .map((row) => row.sequence);
  }

  /** The groups of a commit, [request][group]. */
  get(sequence: number): CommittedGroup[][] {
    const decoder = new TextDecoder();
    const texts = this.#sql
      .exec<{ bytes: ArrayBuffer }>("SELECT bytes FROM commit_part WHERE sequence = ? ORDER BY part", sequence)
      .toArray()
      .map(({ bytes }) => decoder.decode(bytes, { stream: true }));
    return committedRequests.parse(JSON.parse(texts.join("") + decoder.decode()));
  }

  forgetThrough(sequence: number): void {
    this.#sql.exec("DELETE FROM commit_part WHERE sequence <= ?", sequence);
  }
}
