/** A request that waits. */
interface Waiter<Q, T> {
  readonly request: Q;
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
  #waiting: Waiter<Q, T>[] = [];
  #timer: ReturnType<typeof setTimeout> | null = null;

  /**
   * `serve` gets those who wait, longest first, and serves whom it can; `nothing` is what a waiter gets when its time is up.
   */
  constructor(serve: (requests: readonly Q[]) => Iterable<Served<Q, T>>, nothing: (request: Q) => T) {
    this.#serve = serve;
    this.#nothing = nothing;
  }

  /** Whoever has waited longest, or null. */
  get first(): Q | null {
    return this.#waiting[0]?.request ?? null;
  }

  get count(): number {
    return this.#waiting.length;
  }

  /** Longest first. */
  requests(): Q[] {
    return this.#waiting.map(({ request }) => request);
  }

  /** A request may wait once at a time. */
  wait(request: Q, milliseconds: number): Promise<T> {
    const { promise, resolve } = Promise.withResolvers<T>();
    this.#waiting.push({ request, until: Date.now() + milliseconds, resolve });
    // The newcomer may be the first whose time is up.
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    this.#schedule();
    return promise;
  }

  /** Something changed: serves as many as can be served. */
  wake(): void {
    if (this.#waiting.length === 0) return;
    for (const { request, answer } of this.#serve(this.requests())) {
      const served = this.#waiting.find((waiter) => waiter.request === request);
      this.#waiting = this.#waiting.filter((waiter) => waiter !== served);
      served?.resolve(answer);
    }
  }

  /** Everyone's time is up. */
  dismiss(): void {
    const over = this.#waiting;
    this.#waiting = [];
    for (const { request, resolve } of over) resolve(this.#nothing(request));
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
      for (const waiter of over) waiter.resolve(this.#nothing(waiter.request));
      this.#schedule();
    }
  }
}
