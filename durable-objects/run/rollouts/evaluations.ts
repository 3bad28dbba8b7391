import { z } from "zod";

/** Evaluations kept, over all environments. */
const KEPT = 1_000;

/** What an evaluation brought. Field names are the wire's. */
export interface Evaluation {
  readonly env_id: number;
  readonly step: number;
  readonly metrics: Readonly<Record<string, number>>;
}

export interface KeptEvaluation extends Evaluation {
  readonly evaluation_id: number;
}

/** Metrics' text of one list, in characters: it travels in one message of 32 MiB at most. */
const LIST_CHARACTERS = 4 * 1024 * 1024;

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

  /** Those with an id below `before`, newest first: `limit` at most, and no more text than {@link LIST_CHARACTERS}. */
  list(before: number | null, limit: number): KeptEvaluation[] {
    type Row = { id: number; environment: number; step: number; metrics: string };
    const rows = this.#sql.exec<Row>(
      "SELECT id, environment, step, metrics FROM evaluation WHERE ?1 IS NULL OR id < ?1 ORDER BY id DESC LIMIT ?2",
      before,
      limit,
    );
    const listed: KeptEvaluation[] = [];
    let characters = 0;
    for (const { id, environment, step, metrics: text } of rows) {
      characters += text.length;
      // The first one is always told, so that whoever asks on gets on.
      if (listed.length > 0 && characters > LIST_CHARACTERS) break;
      listed.push({ evaluation_id: id, env_id: environment, step, metrics: metrics.parse(JSON.parse(text)) });
    }
    return listed;
  }
}
