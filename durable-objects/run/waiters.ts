/** A request that waits. */
interface Waiter<T> {
  readonly until: number;
  readonly resolve: (value: T) => void;
}

/** What is given to one of those who wait. */
export interface Served<Q, T> {
  readonly request: Q;
  readonly answer: T;
}

/** Floors and cool-downs end with time, not with an event, so those who wait are looked after this often. */
const RECHECK_MS = 1000;

/** Requests that wait until they can be served. */
export class Waiters<Q extends object, T> {
  readonly #serve: (requests: readonly Q[]) => Iterable<Served<Q, T>>;
  readonly #nothing: (request: Q) => T;
  /** By request, longest first: a run may have thousands of them, and all may be served at once. */
  readonly #waiting = new Map<Q, Waiter<T>>();
  #timer: ReturnType<typeof setTimeout> | null = null;
  /** When the timer goes off, in Unix milliseconds. */
  #tickAt = 0;

  /**
   * `serve` gets those who wait, longest first, and serves whom it can; `nothing` is what a waiter gets when its time is up.
   */
  constructor(serve: (requests: readonly Q[]) => Iterable<Served<Q, T>>, nothing: (request: Q) => T) {
    this.#serve = serve;
    this.#nothing = nothing;
  }

  /** Whoever has waited longest, or null. */
  get first(): Q | null {
    return this.#waiting.keys().next().value ?? null;
  }

  get count(): number {
    return this.#waiting.size;
  }

  /** Longest first. */
  requests(): Q[] {
    return [...this.#waiting.keys()];
  }

  /** A request may wait once at a time. */
  wait(request: Q, milliseconds: number): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    const until = Date.now() + milliseconds;
    this.#waiting.set(request, { until, resolve });
    // The newcomer may be the first whose time is up.
    this.#tickBy(until);
    return promise;
  }

  /** Something changed: serves as many as can be served. */
  wake(): void {
    if (this.#waiting.size === 0) return;
    for (const { request, answer } of this.#serve(this.requests())) {
      const served = this.#waiting.get(request);
      this.#waiting.delete(request);
      served?.resolve(answer);
    }
  }

  /** Everyone's time is up. */
  dismiss(): void {
    this.#giveUp([...this.#waiting]);
  }

  #giveUp(over: readonly (readonly [Q, Waiter<T>])[]): void {
    for (const [request] of over) this.#waiting.delete(request);
    for (const [request, { resolve }] of over) resolve(this.#nothing(request));
  }

  /** Looks after those who wait at this time at the latest, and soon in any case. */
  #tickBy(time: number): void {
    const now = Date.now();
    const at = Math.min(time, now + RECHECK_MS);
    if (this.#timer !== null) {
      if (this.#tickAt <= at) return;
      clearTimeout(this.#timer);
    }
    this.#tickAt = at;
    this.#timer = setTimeout(() => this.#tick(), Math.max(0, at - now));
  }

  #tick(): void {
    this.#timer = null;
    try {
      this.wake();
    } finally {
      const now = Date.now();
      this.#giveUp([...this.#waiting].filter(([, { until }]) => until <= now));
      if (this.#waiting.size > 0)
        this.#tickBy([...this.#waiting.values()].reduce((soonest, { until }) => Math.min(soonest, until), Infinity));
    }
  }
}
