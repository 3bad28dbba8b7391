import { Random } from "../kit/random.ts";
import type { LetterCountingConfig } from "./config.ts";
import { difficultyOf } from "./difficulty.ts";
import type { LevelState } from "./level.ts";
import { wordsOfLength } from "./words.ts";

export interface LetterCountingItem {
  readonly text: string;
  /** Letters to count, all different. */
  readonly letters: readonly string[];
  /** How often the text has each of them. */
  readonly counts: readonly number[];
  readonly level: number;
}

type ItemSettings = Pick<LetterCountingConfig, "seed" | "present_share">;

const ALPHABET = "abcdefghijklmnopqrstuvwxyz".split("");

/** Different letters of a random string at most: fewer than in the alphabet, so that letters recur. */
const MOST_LETTERS = 8;

/** The item that training draws as number `index` when the run is at the state's level. */
export function itemAt(index: number, config: ItemSettings, { level }: Pick<LevelState, "level">): LetterCountingItem {
  return itemOf(Random.of("letter-counting", "train", config.seed, level, index), level, config.present_share);
}

/** Item `index` of an evaluation: from a stream that training never draws from. */
export function evaluationItemAt(
  index: number,
  config: ItemSettings,
  { level }: Pick<LevelState, "level">,
): LetterCountingItem {
  return itemOf(Random.of("letter-counting", "evaluation", config.seed, level, index), level, config.present_share);
}

function itemOf(random: Random, level: number, presentShare: number): LetterCountingItem {
  const { words, strings, stringShare, letters: count } = difficultyOf(level);
  const text =
    random.next() < stringShare ? randomString(random, random.int(...strings)) : random.pick(wordsOfLength(...words));
  const letters = chooseLetters(random, text, count, presentShare);
  return { text, letters, counts: letters.map((letter) => countLetter(text, letter)), level };
}

function randomString(random: Random, length: number): string {
  const letters = random.shuffle(ALPHABET).slice(0, MOST_LETTERS);
  return Array.from({ length }, () => random.pick(letters)).join("");
}

/** Different letters, each from the text with the given chance as far as the text has enough. */
function chooseLetters(random: Random, text: string, count: number, presentShare: number): string[] {
  const present = random.shuffle([...new Set(text)]);
  const absent = random.shuffle(ALPHABET.filter((letter) => !text.includes(letter)));
  return Array.from({ length: count }, () => {
    const [first, second] = random.next() < presentShare ? [present, absent] : [absent, present];
    return first.pop() ?? second.pop() ?? "";
  });
}

/** How often a text has a letter. */
export function countLetter(text: string, letter: string): number {
  return text.split(letter).length - 1;
}
