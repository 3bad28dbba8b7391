import type { Explanation } from "./explain.ts";
import { HUNGRY_FOR_MS, type Hunger } from "./stall-notes.ts";

/** A run whose trainers have been without a batch for this long is stalled. */
export const STALLED_AFTER_MS = 60_000;

/** While a run is stalled, its log says so this often. */
export const LOG_EVERY_MS = 60_000;

/** A run that is stalled, and why. Field names are the wire's. */
export interface Stall {
  readonly stalled: true;
  /** How long trainers have been asking in vain. */
  readonly since_seconds: number;
  readonly reason: Explanation["reason"];
  /** The same in words, for a person. */
  readonly message: string;
}

type Cause = Pick<Explanation, "reason" | "message">;

/**
 * Notices a run whose trainers want batches and get none. Hunger begins with the first request that came back empty or has
 * to wait, or gets what broke off before. It ends with a new batch for anyone or with one that arrives, or when nobody has asked for {@link HUNGRY_FOR_MS}: a run without trainers is
 * not stalled, however long ago its last batch was. In memory alone: who keeps {@link hunger} can begin with it again.
 *
 * Times are Unix milliseconds. `waiting` is how many requests wait for a batch right now; `explain` is asked for the cause
 * only when there is a stall.
 */
export class Watchdog {
  #hungrySince: number | null = null;
  #lastPoll: number | null = null;
  #progressedAt: number | null = null;
  #loggedAt: number | null = null;

  constructor(hunger: Hunger | null = null) {
    this.#hungrySince = hunger?.since ?? null;
    this.#lastPoll = hunger?.lastPoll ?? null;
    this.#loggedAt = hunger?.loggedAt ?? null;
  }

  /** Null if nobody has asked in vain. */
  get hunger(): Hunger | null {
    if (this.#hungrySince === null || this.#lastPoll === null) return null;
    return { since: this.#hungrySince, lastPoll: this.#lastPoll, loggedAt: this.#loggedAt };
  }

  /**
   * A trainer asked and got nothing, or a batch that was out before: at once, or after it had waited `waitedMs`. Called too
   * when it begins to wait.
   */
  polled(now: number, waitedMs = 0): void {
    const began = now - waitedMs;
    const goesOn = this.#lastPoll !== null && began - this.#lastPoll <= HUNGRY_FOR_MS;
    if (!goesOn || this.#hungrySince === null) this.#hungrySince = began;
    this.#lastPoll = now;
  }

  /** A trainer got a new batch, or has one for good: it was delivered, or acknowledged. */
  progressed(now: number): void {
    this.#progressedAt = now;
    this.#hungrySince = null;
    this.#lastPoll = null;
    this.#loggedAt = null;
  }

  /** Null unless the run is stalled. Looking changes nothing. */
  look(now: number, waiting: number, explain: () => Cause): Stall | null {
    const since = this.#since(now, waiting);
    if (since === null || now - since < STALLED_AFTER_MS) return null;
    const since_seconds = Math.floor((now - since) / 1000);
    const { reason, message } = explain();
    return {
      stalled: true,
      since_seconds,
      reason,
      message: `trainers have asked in vain for ${since_seconds} s: ${message}`,
    };
  }

  /** As {@link look}, but null too when the log has been told within {@link LOG_EVERY_MS}. */
  toLog(now: number, waiting: number, explain: () => Cause): Stall | null {
    if (this.#loggedAt !== null && now - this.#loggedAt < LOG_EVERY_MS) return null;
    const stall = this.look(now, waiting, explain);
    if (stall !== null) this.#loggedAt = now;
    return stall;
  }

  /** When {@link toLog} next has something to say if nothing changes; null while nobody is hungry. */
  nextLook(now: number, waiting: number): number | null {
    const since = this.#since(now, waiting);
    if (since === null) return null;
    const next = this.#loggedAt === null ? since + STALLED_AFTER_MS : this.#loggedAt + LOG_EVERY_MS;
    return Math.max(now, next);
  }

  /** Since when trainers have been hungry; null if none is. */
  #since(now: number, waiting: number): number | null {
    const polls = this.#lastPoll !== null && now - this.#lastPoll <= HUNGRY_FOR_MS;
    if (!polls && waiting === 0) return null;
    // Another trainer's batch ended the hunger of one that waits on, and it begins anew with that batch.
    return Math.max(this.#hungrySince ?? this.#progressedAt ?? now, this.#progressedAt ?? 0);
  }
}
