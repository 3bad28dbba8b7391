/** What a histogram has counted. */
export interface HistogramCounts {
  /** Upper bounds of the buckets, inclusive, rising. */
  readonly bounds: readonly number[];
  /** Observations by bucket, not added up; one more than there are bounds: the last counts what is beyond them all. */
  readonly counts: readonly number[];
  readonly sum: number;
}

/** Counts observations by size. */
export class Histogram {
  readonly #bounds: readonly number[];
  readonly #counts: number[];
  #sum = 0;

  /** `bounds` are inclusive upper bounds and rise. */
  constructor(bounds: readonly number[]) {
    this.#bounds = bounds;
    this.#counts = Array.from({ length: bounds.length + 1 }, () => 0);
  }

  /** What is no finite number is left out: one NaN would spoil the sum for ever. */
  observe(value: number): void {
    if (!Number.isFinite(value)) return;
    const found = this.#bounds.findIndex((bound) => value <= bound);
    const bucket = found === -1 ? this.#bounds.length : found;
    this.#counts[bucket] = (this.#counts[bucket] ?? 0) + 1;
    this.#sum += value;
  }

  counts(): HistogramCounts {
    return { bounds: this.#bounds, counts: [...this.#counts], sum: this.#sum };
  }
}
