/** A trainer that asked in vain counts as hungry for this long: whoever polls, polls more often. */
export const HUNGRY_FOR_MS = 30_000;

/** A note is at most so much older than what it notes. */
const PRECISION_MS = 5_000;

/** An object that woke so short ago was woken by the request it is asked by: it sleeps between requests, and forgets. */
const JUST_WOKE_MS = 2_000;

/** Hunger that is older is noted in any case: a restart must not end it. */
const NOTED_AFTER_MS = 10_000;

export interface Hunger {
  readonly since: number;
  readonly lastPoll: number;
  /** When the log was last told of it; null if it never was. */
  readonly loggedAt: number | null;
}

/**
 * What must outlive the object's sleep while a trainer asks in vain: since when it does, and when the environments were last
 * heard from whose unmet floors it waits for. Else a run that is polled rarely would wait for a silent environment for ever,
 * as it knows of no silence when it wakes. Nothing is written while a trainer gets its batches within seconds, or when none
 * asks any more. Times are Unix milliseconds.
 */
export class StallNotes {
  readonly #sql: SqlStorage;
  readonly #wokeAt: number;
  readonly #heardAt: Map<number, number>;
  #hunger: Hunger | null;
  #lastPoll: number;

  constructor(sql: SqlStorage, now: number) {
    this.#sql = sql;
    this.#wokeAt = now;
    type Heard = { environment: number; heard_at: number };
    const heard = sql.exec<Heard>("SELECT environment, heard_at FROM heard").toArray();
    this.#heardAt = new Map(heard.map(({ environment, heard_at }) => [environment, heard_at]));
    type Row = { since: number; last_poll: number; logged_at: number | null };
    const [hunger] = sql.exec<Row>("SELECT since, last_poll, logged_at FROM hunger").toArray();
    this.#hunger =
      hunger === undefined ? null : { since: hunger.since, lastPoll: hunger.last_poll, loggedAt: hunger.logged_at };
    this.#lastPoll = this.#hunger?.lastPoll ?? 0;
  }

  /** As it was noted; null if it wasn't. */
  get hunger(): Hunger | null {
    return this.#hunger;
  }

  /** When an environment was last heard from at the latest, if that is noted, else `now`. */
  heardAt(environment: number, now: number): number {
    const noted = this.#heardAt.get(environment);
    return noted === undefined ? now : Math.min(now, noted + PRECISION_MS);
  }

  /** A trainer asked in vain, or the log was told of it. Returns whether that has to be noted. */
  hungry(hunger: Hunger, now: number): boolean {
    this.#lastPoll = hunger.lastPoll;
    if (now - this.#wokeAt > JUST_WOKE_MS && now - hunger.since < NOTED_AFTER_MS) return false;
    const before = this.#hunger;
    const isKnown = before?.since === hunger.since && before.loggedAt === hunger.loggedAt;
    if (before !== null && isKnown && now - before.lastPoll < PRECISION_MS) return true;
    this.#hunger = hunger;
    const { since, lastPoll, loggedAt } = hunger;
    this.#sql.exec(
      "INSERT OR REPLACE INTO hunger (id, since, last_poll, logged_at) VALUES (0, ?, ?, ?)",
      since,
      lastPoll,
      loggedAt,
    );
    return true;
  }

  /** A trainer waits for an environment that was last heard from then. */
  waitsFor(environment: number, heardAt: number): void {
    if (!this.#heardAt.has(environment)) this.#note(environment, heardAt);
  }

  /** An environment was heard from. */
  heard(environment: number, now: number): void {
    const noted = this.#heardAt.get(environment);
    if (noted === undefined) return;
    if (now - this.#lastPoll > HUNGRY_FOR_MS) this.#forget(environment);
    else if (now - noted >= PRECISION_MS) this.#note(environment, now);
  }

  /** The stall is over. */
  clear(): void {
    if (this.#hunger !== null) this.#sql.exec("DELETE FROM hunger");
    if (this.#heardAt.size > 0) this.#sql.exec("DELETE FROM heard");
    this.#hunger = null;
    this.#heardAt.clear();
  }

  #note(environment: number, heardAt: number): void {
    this.#heardAt.set(environment, heardAt);
    this.#sql.exec("INSERT OR REPLACE INTO heard (environment, heard_at) VALUES (?, ?)", environment, heardAt);
  }

  #forget(environment: number): void {
    this.#heardAt.delete(environment);
    this.#sql.exec("DELETE FROM heard WHERE environment = ?", environment);
  }
}
