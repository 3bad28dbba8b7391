/** Steps a mean reward is taken over. */
const WINDOW = 10;

/** Follows the mean reward of a run's steps. */
export class RewardTrend {
  #lastStep = Number.NEGATIVE_INFINITY;
  readonly #firstRewards: number[] = [];
  #lastRewards: number[] = [];
  #first: number | null = null;

  /** Takes a step's mean reward; a step that was taken already, or that is older, changes nothing. */
  add(step: number, reward: number): void {
    if (step <= this.#lastStep) return;
    this.#lastStep = step;
    if (this.#firstRewards.length < WINDOW) this.#firstRewards.push(reward);
    this.#lastRewards = [...this.#lastRewards, reward].slice(-WINDOW);
  }

  /** Says what the mean of the run's first steps was, which were taken before this process. */
  goOnFrom(first: number | null): void {
    this.#first = first;
  }

  /** Means of the first and of the last steps; null before the first. */
  get means(): { readonly first: number; readonly last: number } | null {
    const last = mean(this.#lastRewards);
    const first = this.#first ?? mean(this.#firstRewards);
    return last === null || first === null ? null : { first, last };
  }
}

function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}
