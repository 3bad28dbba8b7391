/** What an environment keeps between groups. */
export interface EnvironmentState {
  /** Grows by one with each change; 0 before the first. */
  readonly version: number;
  /** As JSON; null before the first, and JSON's null when the run went back to before it. */
  readonly state: string | null;
}

/** The state, as JSON, of an environment that has none any more. */
const NO_STATE = "null";

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

  /** Copies all states: the trainer saves a checkpoint of this step. Again, it replaces the copies of that step. */
  checkpoint(step: number): void {
    this.#sql.exec("DELETE FROM environment_checkpoint WHERE step = ?", step);
    this.#sql.exec(
      "INSERT INTO environment_checkpoint (environment, step, state) SELECT environment, ?, state FROM environment_state",
      step,
    );
    this.#sql.exec(
      `DELETE FROM environment_checkpoint WHERE step < (
         SELECT MIN(step) FROM (SELECT DISTINCT step FROM environment_checkpoint ORDER BY step DESC LIMIT ?))`,
      CHECKPOINTS_KEPT,
    );
  }

  /**
   * Goes back to the states at the last checkpoint at or before a step; an environment that had none then has none again.
   * Versions go on, so that what was computed from a later state is refused. Of a run that makes no checkpoints nothing is
   * known of earlier states, and they stay. `interval` is the steps between two, 0 or less for none.
   */
  restore(step: number, interval: number): void {
    if (interval <= 0) return;
    const from = this.#checkpointFor(step);
    this.#sql.exec(
      `UPDATE environment_state SET version = version + 1, state = COALESCE(
         (SELECT c.state FROM environment_checkpoint AS c WHERE c.environment = environment_state.environment AND c.step = ?), ?)`,
      from,
      NO_STATE,
    );
    this.#sql.exec("DELETE FROM environment_checkpoint WHERE step > ?1 AND step IS NOT ?2", step, from);
    // What it went back to counts as the copy of this step from now on, though it is a little younger.
    if (from !== null && from > step)
      this.#sql.exec("UPDATE environment_checkpoint SET step = ? WHERE step = ?", step, from);
  }

  /** Null for the run's beginning, when there was no state. */
  #checkpointFor(step: number): number | null {
    type Row = { last: number | null; first: number | null; count: number };
    const { last, first, count } = this.#sql
      .exec<Row>(
        `SELECT MAX(step) FILTER (WHERE step <= ?) AS last, MIN(step) AS first, COUNT(DISTINCT step) AS count
         FROM environment_checkpoint`,
        step,
      )
      .one();
    // With fewer than are kept none has been forgotten. Else the oldest one is the nearest.
    return last ?? (count < CHECKPOINTS_KEPT ? null : first);
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
