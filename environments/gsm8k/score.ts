import { finalAnswer, numbersEqual, parseNumber } from "../kit/answers/index.ts";
import type { Completion } from "../kit/completion.ts";
import type { Gsm8kConfig } from "./config.ts";
import type { Gsm8kItem } from "./item.ts";

type AnswerSettings = Pick<Gsm8kConfig, "sources" | "thinking_opened">;
type ScoreSettings = Pick<Gsm8kConfig, "max_tokens" | "length_penalty_from" | "filters"> & AnswerSettings;

/** Whether a completion's answer, after its thinking block, is the item's number. */
export function isRight(item: Gsm8kItem, text: string, { sources, thinking_opened }: AnswerSettings): boolean {
  const answer = finalAnswer(text, { sources, thinkingOpened: thinking_opened });
  const value = answer === null ? null : parseNumber(answer);
  return value !== null && numbersEqual(value, item.value);
}

/**
 * The stock rule: 1 for the right answer, else −1. When the whole group is right, that teaches nothing, and brevity is
 * scored instead: 1 up to half of the token budget, then linearly down to 0 at the budget. Completions with too few trained
 * tokens will be dropped (see the kit's filters), and don't decide whether the whole group is right.
 * @returns `[rollout]`
 */
export function scoreGroup(item: Gsm8kItem, completions: readonly Completion[], config: ScoreSettings): number[] {
  const right = completions.map(({ text }) => isRight(item, text, config));
  const counts = completions.map(({ trainedTokens }) => trainedTokens >= config.filters.min_trained_tokens);
  const decisive = right.filter((_, i) => counts[i]);
  const allRight = decisive.length > 0 && decisive.every(Boolean);
  return completions.map(({ tokens }, i) => {
    if (!right[i]) return -1;
    return allRight ? brevity(tokens, config) : 1;
  });
}

function brevity(tokens: number, { max_tokens, length_penalty_from }: ScoreSettings): number {
  const free = max_tokens * length_penalty_from;
  const over = Math.max(0, tokens - free) / (max_tokens - free);
  return Math.max(0, 1 - over);
}
