/** Stands for groups that came without an environment. */
export const NO_ENVIRONMENT = -1;

/** Counts of how rollouts and groups ended, by environment, outcome and reason. Kept on disk. */
export class Outcomes {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add(environment: number | null, outcome: string, reason: string | null, count = 1): void {
    this.#sql.exec(
      `INSERT INTO outcome (environment, outcome, reason, count) VALUES (?1, ?2, ?3, ?4)
       ON CONFLICT (environment, outcome, reason) DO UPDATE SET count = count + ?4`,
      environment ?? NO_ENVIRONMENT,
      outcome,
      reason ?? "",
      count,
    );
  }

  /** {outcome: {reason: count}} by environment; the reason of an outcome that needs none is "". */
  all(): Map<number, Record<string, Record<string, number>>> {
    type Row = { environment: number; outcome: string; reason: string; count: number };
    const counts = new Map<number, Record<string, Record<string, number>>>();
    for (const row of this.#sql.exec<Row>("SELECT * FROM outcome ORDER BY outcome, reason")) {
      const ofEnvironment = counts.get(row.environment) ?? {};
      counts.set(row.environment, ofEnvironment);
      ofEnvironment[row.outcome] = { ...ofEnvironment[row.outcome], [row.reason]: row.count };
    }
    return counts;
  }
}
