import { z } from "zod";

/** Evaluations kept, over all environments. */
const KEPT = 1_000;

/** What an evaluation brought. Field names are the wire's. */
export interface Evaluation {
  readonly env_id: number;
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

const metrics = z.record(z.string(), z.number());

/** Results of evaluations, newest first. */
export class Evaluations {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  add({ env_id, step, metrics: found }: Evaluation): void {
    this.#sql.exec(
      "INSERT INTO evaluation (environment, step, metrics) VALUES (?, ?, ?)",
      env_id,
      step,
      JSON.stringify(found),
    );
    this.#sql.exec("DELETE FROM evaluation WHERE id <= (SELECT MAX(id) FROM evaluation) - ?", KEPT);
  }

  all(): Evaluation[] {
    type Row = { environment: number; step: number; metrics: string };
    return this.#sql
      .exec<Row>("SELECT environment, step, metrics FROM evaluation ORDER BY id DESC")
      .toArray()
      .map((row) => ({ env_id: row.environment, step: row.step, metrics: metrics.parse(JSON.parse(row.metrics)) }));
  }
}
