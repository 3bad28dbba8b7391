import { finalAnswer, parseNumber } from "../kit/answers/index.ts";
import type { Completion } from "../kit/completion.ts";
import type { LetterCountingConfig } from "./config.ts";
import type { LetterCountingItem } from "./items.ts";

type ScoreSettings = Pick<LetterCountingConfig, "sources" | "thinking_opened">;

/** Longer answers are no counts; they are refused unread. */
const MAX_CHARACTERS = 400;

/** One `"e": 4` of an answer, quotes or not, with the comma or the end that follows it. */
const ENTRY = /\s*["']?([a-z])["']?\s*[:=]\s*(\d{1,9})\s*(?:,|$)/giy;

/** 1 for exact counts, else 0. @returns `[rollout]` */
export function scoreGroup(
  item: LetterCountingItem,
  completions: readonly Pick<Completion, "text">[],
  config: ScoreSettings,
): number[] {
  return completions.map(({ text }) => (isRight(item, text, config) ? 1 : 0));
}

/**
 * Whether a completion's answer, after its thinking block, has the right count: a number, or for several letters all of
 * their counts, as in `{"e": 4, "o": 2}`, in any order.
 */
export function isRight(
  { letters, counts }: LetterCountingItem,
  text: string,
  { sources, thinking_opened }: ScoreSettings,
): boolean {
  const answer = finalAnswer(text, { sources, thinkingOpened: thinking_opened });
  if (answer === null) return false;
  if (letters.length === 1) return parseNumber(answer) === counts[0];
  const given = parseCounts(answer);
  return (
    given !== null && given.size === letters.length && letters.every((letter, i) => given.get(letter) === counts[i])
  );
}

/** Counts by letter; null for anything but a list of them, and for one that names a letter twice. */
export function parseCounts(answer: string): Map<string, number> | null {
  if (answer.length > MAX_CHARACTERS) return null;
  const list = answer
    .trim()
    .replace(/^\\?\{(.*?)\\?\}$/s, "$1")
    .trim();
  const counts = new Map<string, number>();
  let end = 0;
  for (const entry of list.matchAll(ENTRY)) {
    const letter = (entry[1] ?? "").toLowerCase();
    if (counts.has(letter)) return null;
    counts.set(letter, Number(entry[2]));
    end = entry.index + entry[0].length;
  }
  return end === list.length && counts.size > 0 ? counts : null;
}
