/** What an environment keeps between groups. */
export interface EnvironmentState {
  /** Grows by one with each change; 0 while there is none. */
  readonly version: number;
  /** As JSON. */
  readonly state: string | null;
}

/** Checkpoints of states kept for each environment. */
const CHECKPOINTS_KEPT = 20;

/** States of environments, and copies of them at the trainer's checkpoints. */
export class EnvironmentStates {
  readonly #sql: SqlStorage;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
  }

  get(environment: number): EnvironmentState {
    const [row] = this.#sql
      .exec<{ version: number; state: string }>(
        "SELECT version, state FROM environment_state WHERE environment = ?",
        environment,
      )
      .toArray();
    return row ?? { version: 0, state: null };
  }

  /** Replaces the state if it is still at `version`. Returns what is kept then: a version one higher if it was. */
  replace(environment: number, version: number, state: string): { readonly replaced: boolean } & EnvironmentState {
    const kept = this.get(environment);
    if (kept.version !== version) return { replaced: false, ...kept };
    this.#set(environment, version + 1, state);
    return { replaced: true, version: version + 1, state };
  }

  /** Copies all states: the trainer saves a checkpoint of this step. */
  checkpoint(step: number): void {
    this.#sql.exec(
      `INSERT OR REPLACE INTO environment_checkpoint (environment, step, state)
       SELECT environment, ?, state FROM environment_state`,
      step,
    );
    this.#sql.exec(
      `DELETE FROM environment_checkpoint WHERE step < (
         SELECT MIN(step) FROM (SELECT DISTINCT step FROM environment_checkpoint ORDER BY step DESC LIMIT ?))`,
      CHECKPOINTS_KEPT,
    );
  }

  /**
   * Goes back to the states of the last checkpoint at or before a step; an environment that has none keeps what it has.
   * Versions go on, so that what was computed from a later state is refused. Returns how many went back.
   */
  restore(step: number): number {
    type Row = { environment: number; state: string };
    const rows = this.#sql
      .exec<Row>(
        `SELECT environment, state FROM environment_checkpoint AS c WHERE step = (
           SELECT MAX(step) FROM environment_checkpoint WHERE environment = c.environment AND step <= ?)`,
        step,
      )
      .toArray();
    for (const { environment, state } of rows) this.#set(environment, this.get(environment).version + 1, state);
    this.#sql.exec("DELETE FROM environment_checkpoint WHERE step > ?", step);
    return rows.length;
  }

  #set(environment: number, version: number, state: string): void {
    this.#sql.exec(
      `INSERT INTO environment_state (environment, version, state) VALUES (?1, ?2, ?3)
       ON CONFLICT (environment) DO UPDATE SET version = ?2, state = ?3`,
      environment,
      version,
      state,
    );
  }
}
