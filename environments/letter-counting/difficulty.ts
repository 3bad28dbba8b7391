/** What a level asks: which texts, and how many letters at once. */
export interface Difficulty {
  /** Letters of a word. */
  readonly words: readonly [least: number, most: number];
  /** Letters of a random string. */
  readonly strings: readonly [least: number, most: number];
  /** Share of random strings among the texts. */
  readonly stringShare: number;
  /** How many letters are counted. */
  readonly letters: number;
}

const LEVELS: readonly Difficulty[] = [
  { words: [3, 4], strings: [3, 4], stringShare: 0, letters: 1 },
  { words: [4, 5], strings: [4, 6], stringShare: 0, letters: 1 },
  { words: [5, 7], strings: [5, 8], stringShare: 0.05, letters: 1 },
  { words: [7, 9], strings: [7, 10], stringShare: 0.1, letters: 1 },
  { words: [9, 12], strings: [9, 13], stringShare: 0.15, letters: 1 },
  { words: [11, 16], strings: [12, 18], stringShare: 0.3, letters: 1 },
  { words: [12, 16], strings: [16, 24], stringShare: 0.5, letters: 1 },
  { words: [9, 16], strings: [14, 22], stringShare: 0.4, letters: 2 },
  { words: [10, 16], strings: [18, 30], stringShare: 0.6, letters: 3 },
  { words: [12, 16], strings: [24, 40], stringShare: 0.8, letters: 4 },
];

export const TOP_LEVEL = LEVELS.length;

/** @throws RangeError when there is no such level; they are counted from 1. */
export function difficultyOf(level: number): Difficulty {
  const difficulty = LEVELS[level - 1];
  if (difficulty === undefined) throw new RangeError(`level is ${level}; there are levels 1 to ${TOP_LEVEL}`);
  return difficulty;
}
