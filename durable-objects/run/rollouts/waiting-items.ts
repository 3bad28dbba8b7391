/** An item that is drawn before new ones: a follow-up of an environment, or one whose lease was lost. */
export interface WaitingItem {
  /** Of the environment's sequence, or null for a follow-up. */
  readonly item: number | null;
  /** A follow-up item as JSON. */
  readonly backlog: string | null;
  readonly seed: number;
  /** Of the lease that it gets next. */
  readonly attempt: number;
}

/** Follow-up items of one environment at most: an environment that only adds would fill the disk. */
export const MAX_WAITING_ITEMS = 10_000;

type Row = { id: number; item: number | null; backlog: string | null; seed: number; attempt: number };

/** Items that wait to be drawn, first in first out within an environment. */
export class WaitingItems {
  readonly #sql: SqlStorage;
  readonly #counts = new Map<number, number>();

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    type Count = { environment: number; count: number };
    for (const { environment, count } of sql.exec<Count>(
      "SELECT environment, COUNT(*) AS count FROM waiting_item GROUP BY environment",
    ))
      this.#counts.set(environment, count);
  }

  count(environment: number): number {
    return this.#counts.get(environment) ?? 0;
  }

  add(environment: number, { item, backlog, seed, attempt }: WaitingItem): void {
    this.#sql.exec(
      "INSERT INTO waiting_item (environment, item, backlog, seed, attempt) VALUES (?, ?, ?, ?, ?)",
      environment,
      item,
      backlog,
      seed,
      attempt,
    );
    this.#counts.set(environment, this.count(environment) + 1);
  }

  /** Takes the item that has waited longest, or null. */
  take(environment: number): WaitingItem | null {
    if (this.count(environment) === 0) return null;
    const [row] = this.#sql
      .exec<Row>(
        "SELECT id, item, backlog, seed, attempt FROM waiting_item WHERE environment = ? ORDER BY id LIMIT 1",
        environment,
      )
      .toArray();
    if (row === undefined) return null;
    const { id, ...item } = row;
    this.#sql.exec("DELETE FROM waiting_item WHERE id = ?", id);
    this.#counts.set(environment, this.count(environment) - 1);
    return item;
  }
}
