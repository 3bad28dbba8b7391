/** A note is at most so much older than what it notes. */
const PRECISION_MS = 5_000;

/** An object that woke so short ago was woken by the request it is asked by: it sleeps between requests, and forgets. */
const JUST_WOKE_MS = 2_000;

/** Hunger that is older is noted in any case: a restart must not end it. */
const NOTED_AFTER_MS = 10_000;

export interface Hunger {
  readonly since: number;
  readonly lastPoll: number;
}

/**
 * What must outlive the object's sleep while a trainer asks in vain: since when it does, and when the environments were last
 * heard from whose floors it waits for. Else a run that is polled rarely would wait for a silent environment for ever, as it
 * knows of no silence when it wakes. Written during a stall alone. Times are Unix milliseconds.
 */
export class StallNotes {
  readonly #sql: SqlStorage;
  readonly #wokeAt: number;
  readonly #heardAt: Map<number, number>;
  #hunger: Hunger | null;

  constructor(sql: SqlStorage, now: number) {
    this.#sql = sql;
    this.#wokeAt = now;
    type Heard = { environment: number; heard_at: number };
    const heard = sql.exec<Heard>("SELECT environment, heard_at FROM heard").toArray();
    this.#heardAt = new Map(heard.map(({ environment, heard_at }) => [environment, heard_at]));
    const [hunger] = sql.exec<{ since: number; last_poll: number }>("SELECT since, last_poll FROM hunger").toArray();
    this.#hunger = hunger === undefined ? null : { since: hunger.since, lastPoll: hunger.last_poll };
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

  /** A trainer asked in vain. */
  hungry(hunger: Hunger, now: number): void {
    if (this.#hunger !== null && this.#hunger.since === hunger.since && now - this.#hunger.lastPoll < PRECISION_MS)
      return;
    if (now - this.#wokeAt > JUST_WOKE_MS && now - hunger.since < NOTED_AFTER_MS) return;
    this.#hunger = hunger;
    const { since, lastPoll } = hunger;
    this.#sql.exec("INSERT OR REPLACE INTO hunger (id, since, last_poll) VALUES (0, ?, ?)", since, lastPoll);
  }

  /** A trainer waits for an environment that was last heard from then. */
  waitsFor(environment: number, heardAt: number): void {
    if (!this.#heardAt.has(environment)) this.#note(environment, heardAt);
  }

  /** An environment was heard from. */
  heard(environment: number, now: number): void {
    const noted = this.#heardAt.get(environment);
    if (noted !== undefined && now - noted >= PRECISION_MS) this.#note(environment, now);
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
}
