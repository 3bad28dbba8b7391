import type { Group } from "./batch.ts";

/** Keeps a group of equal scores at advantages of 0. */
const MIN_DEVIATION = 1e-8;

/** Group-relative: how far each score is from the group's mean, in standard deviations (of the population). */
export function groupRelative(scores: readonly number[]): number[] {
  const mean = meanOf(scores);
  const deviation = Math.max(deviationOf(scores), MIN_DEVIATION);
  return scores.map((score) => (score - mean) / deviation);
}

/**
 * The advantage of each token, `[sequence][position]`: the group's own where it gives them, else its scores'. A sequence
 * whose override says `set_advantage_to_zero` has 0.
 */
export function advantages({ tokens, scores, advantages: given, overrides }: Group): number[][] {
  const relative = groupRelative(scores);
  return tokens.map((sequence, index) => {
    if (overrides?.[index]?.set_advantage_to_zero === true) return sequence.map(() => 0);
    return given?.[index] ?? sequence.map(() => relative[index] ?? 0);
  });
}

export function meanOf(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Of the population: divided by the count, not by one less. */
export function deviationOf(values: readonly number[]): number {
  const mean = meanOf(values);
  return Math.sqrt(meanOf(values.map((value) => (value - mean) ** 2)));
}
