/** Arrivals this close to each other share a time. */
const RESOLUTION_MS = 100;

/** Times kept before they are thinned out, 16 bytes each. */
const MAX_TIMES = 4_096;

/** How far thinned times may be off, as a share of how long ago they are. About 1,000 times then span a month. */
const PRECISION = 0.02;

/**
 * When things with rising numbers came: groups by age, rollout leases by id. Keeps a time for many of them at once, so that
 * a long queue costs nothing: an answer is never later than the truth, and earlier by 0.1 s or 2% of the time since at most.
 * In memory alone.
 */
export class ArrivalTimes {
  /** Rising; `#times[i]` is when the first number from `#numbers[i]` on came. */
  #numbers: number[] = [];
  #times: number[] = [];

  /** Something with that number, higher than all before, came at that time (Unix milliseconds). */
  came(number: number, now: number): void {
    const last = this.#times.at(-1);
    if (last !== undefined && now - last < RESOLUTION_MS) return;
    if (this.#numbers.length >= MAX_TIMES) this.#thin(now);
    this.#numbers.push(number);
    this.#times.push(now);
  }

  /** When it came, or null for what came before this object began to look. */
  of(number: number): number | null {
    let low = 0;
    let high = this.#numbers.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if ((this.#numbers[middle] ?? 0) <= number) low = middle + 1;
      else high = middle;
    }
    return this.#times[low - 1] ?? null;
  }

  #thin(now: number): void {
    const kept: number[] = [];
    let before = Number.NEGATIVE_INFINITY;
    for (const [at, time] of this.#times.entries()) {
      // Without it, what came until the next time would count as come at the time before.
      const error = (this.#times[at + 1] ?? now) - before;
      if (error <= PRECISION * (now - time)) continue;
      kept.push(at);
      before = time;
    }
    const [numbers, times] = [this.#numbers, this.#times];
    this.#numbers = kept.flatMap((at) => numbers[at] ?? []);
    this.#times = kept.flatMap((at) => times[at] ?? []);
  }
}
