import type { CommittedGroup, Verdict } from "../payloads.ts";
import { readVerdicts, writeVerdicts } from "./verdicts.ts";

/** What keys begin with that are made of a request's contents; see {@link keyOf}. */
const CONTENTS = "c:";

/**
 * What tells a request if it comes again: a key or a lease that its client named, or, in a run that deduplicates, its
 * contents. `wanted`: only they can tell it, and they weren't named.
 */
export function keyOf(
  { key, lease }: Pick<CommittedGroup, "key" | "lease">,
  deduplicate: boolean,
): { readonly key: string | null; readonly wanted: boolean } {
  const isContents = key?.startsWith(CONTENTS) ?? false;
  return { key: isContents && !deduplicate ? null : key, wanted: deduplicate && key === null && lease === null };
}

const DAY_MS = 24 * 3_600_000;

/**
 * Keys of requests that were taken, for one to two days: rows are kept by day, so that old ones are one range of the table
 * and no second index is paid for.
 */
export class IdempotencyKeys {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** What the request was told when it was taken, or null if it never was. */
  find(key: string, now: number): Verdict[] | null {
    type Row = { groups: number; verdicts: string | null };
    const today = dayOf(now);
    const [row] = this.#sql
      .exec<Row>("SELECT groups, verdicts FROM idempotency_key WHERE day IN (?, ?) AND key = ?", today, today - 1, key)
      .toArray();
    if (row === undefined) return null;
    if (row.verdicts !== null) return readVerdicts(row.verdicts);
    return Array.from({ length: row.groups }, () => ({ status: "received" }));
  }

  /** Notes a request in the transaction that takes it. */
  add(key: string, verdicts: readonly Verdict[], now: number): void {
    const allReceived = verdicts.every(({ status }) => status === "received");
    this.#sql.exec(
      "INSERT OR REPLACE INTO idempotency_key (day, key, groups, verdicts) VALUES (?, ?, ?, ?)",
      dayOf(now),
      key,
      verdicts.length,
      allReceived ? null : writeVerdicts(verdicts),
    );
  }

  /** Forgets those of the days before yesterday. */
  purge(now: number): void {
    this.#sql.exec("DELETE FROM idempotency_key WHERE day < ?", dayOf(now) - 1);
  }
}

function dayOf(now: number): number {
  return Math.floor(now / DAY_MS);
}
