import { z } from "zod";

/**
 * Characters of a row. Cloudflare refuses rows above 2 MB, and a character may take 3 bytes: a hundred items as long as they
 * may be don't fit into one.
 */
const ROW_CHARACTERS = 500_000;

const row = z.object({ items: z.string() });
const list = z.array(z.string());

/** Follow-up items of open rollout leases, each as JSON; they count once the lease ends well. */
export class FollowUps {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Replaces those of an earlier call. */
  set(lease: number, items: readonly string[]): void {
    this.#sql.exec("DELETE FROM follow_up WHERE lease = ?", lease);
    for (const [part, some] of rowsOf(items).entries())
      this.#sql.exec("INSERT INTO follow_up (lease, part, items) VALUES (?, ?, ?)", lease, part, JSON.stringify(some));
  }

  /** Those of a lease that ends, which are forgotten. */
  take(lease: number): string[] {
    const rows = this.#sql.exec("SELECT items FROM follow_up WHERE lease = ? ORDER BY part", lease).toArray();
    if (rows.length === 0) return [];
    this.#sql.exec("DELETE FROM follow_up WHERE lease = ?", lease);
    return rows.flatMap((kept) => list.parse(JSON.parse(row.parse(kept).items)));
  }
}

/** The items in their order, as many a row as fit; one is at most a fraction of a row. */
function rowsOf(items: readonly string[]): string[][] {
  const rows: string[][] = [];
  let room = 0;
  for (const item of items) {
    const length = JSON.stringify(item).length + 1;
    if (length > room) {
      rows.push([]);
      room = ROW_CHARACTERS;
    }
    rows.at(-1)?.push(item);
    room -= length;
  }
  return rows;
}
