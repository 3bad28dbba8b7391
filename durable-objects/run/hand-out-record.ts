import { z } from "zod";
import type { BatchGroup } from "./batches.ts";
import { NO_ENVIRONMENT } from "./rollouts/outcomes.ts";

const histogram = z.record(z.string(), z.int());

/** What trainers got of one environment. */
export interface HandedOut {
  readonly groups: number;
  readonly sequences: number;
  /** Groups by staleness at hand-out, in steps. */
  readonly staleness: Readonly<Record<string, number>>;
}

/** Staleness beyond this is counted together. */
const MOST = 100;

/** What was handed out, by environment: realised shares and staleness. Kept on disk, one row an environment. */
export class HandOutRecord {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  /** Notes a new batch, in the transaction that forms it. `step` is the run's before it. */
  add(groups: readonly BatchGroup[], step: number): void {
    for (const [environment, own] of Map.groupBy(groups, (group) => group.environment ?? NO_ENVIRONMENT)) {
      const known = this.#read("SELECT * FROM handed_out WHERE environment = ?", environment).get(environment);
      const staleness: Record<string, number> = { ...known?.staleness };
      for (const { policyVersion } of own) {
        const steps = `${Math.min(MOST, Math.max(0, step - policyVersion))}`;
        staleness[steps] = (staleness[steps] ?? 0) + 1;
      }
      this.#sql.exec(
        "INSERT OR REPLACE INTO handed_out (environment, groups, sequences, staleness) VALUES (?, ?, ?, ?)",
        environment,
        (known?.groups ?? 0) + own.length,
        (known?.sequences ?? 0) + own.reduce((sum, { sequences }) => sum + sequences, 0),
        JSON.stringify(staleness),
      );
    }
  }

  all(): Map<number, HandedOut> {
    return this.#read("SELECT * FROM handed_out");
  }

  #read(query: string, ...bindings: number[]): Map<number, HandedOut> {
    type Row = { environment: number; groups: number; sequences: number; staleness: string };
    return new Map(
      this.#sql
        .exec<Row>(query, ...bindings)
        .toArray()
        .map(({ environment, groups, sequences, staleness }) => [
          environment,
          { groups, sequences, staleness: histogram.parse(JSON.parse(staleness)) },
        ]),
    );
  }
}
