/** Stands for groups that came without an environment. */
export const NO_ENVIRONMENT = -1;

/** Reasons of one environment that are counted one by one. It names them itself, so nothing else bounds them. */
export const MAX_REASONS = 200;

/** Stands for all further reasons of an outcome. */
export const OTHER = "other";

/** Why an item fails whose leases expire again and again. */
export const LOST_TOO_OFTEN = "lost_too_often";

/** Outcomes whose reasons the run names. They are few. */
const NAMED_BY_THE_RUN: ReadonlySet<string> = new Set(["submitted", "evaluated", "expired", "cancelled", "dropped"]);

/** {outcome: {reason: count}}; the reason of an outcome that needs none is "". */
export type Counts = Record<string, Record<string, number>>;

/** Counts of how rollouts and groups ended, by environment, outcome and reason. Kept on disk. */
export class Outcomes {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(environment: number | null, outcome: string, reason: string | null, count = 1): void {
    const id = environment ?? NO_ENVIRONMENT;
    this.#sql.exec(
      `INSERT INTO outcome (environment, outcome, reason, count) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (environment, outcome, reason) DO UPDATE SET count = count + ?4`,
      id,
      outcome,
      this.#counted(id, outcome, reason ?? ""),
      count,
    );
  }

  /** By environment. */
  all(): Map<number, Counts> {
    type Row = { environment: number; outcome: string; reason: string; count: number };
    const counts = new Map<number, Counts>();
    for (const row of this.#sql.exec<Row>("SELECT * FROM outcome ORDER BY outcome, reason")) {
      const ofEnvironment = counts.get(row.environment) ?? {};
      counts.set(row.environment, ofEnvironment);
      const reasons = ofEnvironment[row.outcome] ?? {};
      ofEnvironment[row.outcome] = reasons;
      reasons[row.reason] = row.count;
    }
    return counts;
  }

  /** What a reason is counted as: itself, unless it is a new one of an environment that has had its share of them. */
  #counted(environment: number, outcome: string, reason: string): string {
    if (NAMED_BY_THE_RUN.has(outcome) || reason === LOST_TOO_OFTEN) return reason;
    const isKnown = this.#sql.exec(
      "SELECT 1 FROM outcome WHERE environment = ? AND outcome = ? AND reason = ?",
      environment,
      outcome,
      reason,
    );
    if (isKnown.toArray().length > 0) return reason;
    const known = this.#sql.exec("SELECT 1 FROM outcome WHERE environment = ? LIMIT ?", environment, MAX_REASONS);
    return known.toArray().length < MAX_REASONS ? reason : OTHER;
  }
}
