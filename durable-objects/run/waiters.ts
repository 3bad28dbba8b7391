/** A request that waits for a batch. */
interface Waiter<T> {
  readonly until: number;
  readonly resolve: (value: T) => void;
}

/** Floors end with time, not with an event, so those who wait are looked after this often. */
const RECHECK_MS = 1000;

/** Requests that wait until `attempt` gives them something, first come first served. */
export class Waiters<T> {
  readonly #attempt: () => T | null;
  readonly #nothing: () => T;
  #waiting: Waiter<T>[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  /** `attempt` returns null while there is nothing to hand out; `nothing` is what a waiter gets when its time is up. */
  constructor(attempt: () => T | null, nothing: () => T) {
    this.#attempt = attempt;
    this.#nothing = nothing;
  }

  get count(): number {
    return this.#waiting.length;
  }

  wait(milliseconds: number): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#waiting.push({ until: Date.now() + milliseconds, resolve });
    // The newcomer may be the first whose time is up.
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#schedule();
    return promise;
  }

  /** Something changed: serves as many as can be served. */
  wake(): void {
    while (this.#waiting.length > 0) {
      const value = this.#attempt();
      if (value === null) break;
      this.#waiting.shift()?.resolve(value);
    }
  }

  #schedule(): void {
    if (this.#timer !== null || this.#waiting.length === 0) return;
    const soonest = Math.min(...this.#waiting.map(({ until }) => until)) - Date.now();
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, Math.min(RECHECK_MS, soonest)));
  }

  #tick(): void {
    this.#timer = null;
    try {
      this.wake();
    } finally {
      const now = Date.now();
      const over = this.#waiting.filter(({ until }) => until <= now);
      this.#waiting = this.#waiting.filter(({ until }) => until > now);
      for (const waiter of over) waiter.resolve(this.#nothing());
      this.#schedule();
    }
  }
}
