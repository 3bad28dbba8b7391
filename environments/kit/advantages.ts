/** Below this a deviation counts as none, so that nothing is divided by almost zero. */
const LEAST_DEVIATION = 1e-8;

/**
 * Group-relative advantages: (score − mean) / max(deviation, 1e-8), with the population's standard deviation (divided by n,
 * not n − 1). Zeros when there is nothing to compare: a single rollout, or equal scores.
 * @param scores `[rollout]`
 * @throws RangeError when a score is not finite.
 */
export function groupAdvantages(scores: readonly number[]): number[] {
  const odd = scores.findIndex((score) => !Number.isFinite(score));
  if (odd !== -1) throw new RangeError(`score ${odd} is ${scores[odd]}; advantages need finite scores`);
  // Rounding gives equal scores a deviation that is not quite 0.
  if (scores.every((score) => score === scores[0])) return scores.map(() => 0);
  const mean = average(scores);
  const deviation = Math.sqrt(average(scores.map((score) => (score - mean) ** 2)));
  return scores.map((score) => (score - mean) / Math.max(deviation, LEAST_DEVIATION));
}

/**
 * What every turn is worth: its reward and, each turn later discounted once more, all that follow.
 * @param rewards `[turn]`
 * @param gamma 1 counts all turns alike, 0 only the turn itself.
 * @throws RangeError when gamma is not from 0 to 1.
 */
export function discountedReturns(rewards: readonly number[], gamma: number): number[] {
  if (!(gamma >= 0 && gamma <= 1)) throw new RangeError(`gamma is ${gamma}; give a number from 0 to 1`);
  let later = 0;
  return rewards
    .map((_, i) => {
      later = (rewards.at(-1 - i) ?? 0) + gamma * later;
      return later;
    })
    .reverse();
}

/**
 * Gives every token of a sequence the sequence's advantage.
 * @param advantages `[sequence]`
 * @param lengths tokens `[sequence]`
 * @returns `[sequence][position]`
 * @throws RangeError when the two have different lengths.
 */
export function broadcast(advantages: readonly number[], lengths: readonly number[]): number[][] {
  if (advantages.length !== lengths.length) {
    throw new RangeError(`there are ${advantages.length} advantages for ${lengths.length} sequences`);
  }
  return advantages.map((advantage, sequence) => Array.from({ length: lengths[sequence] ?? 0 }, () => advantage));
}

function average(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}
