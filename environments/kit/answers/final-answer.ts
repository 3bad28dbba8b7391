import { lastBoxed } from "./boxed.ts";
import { finalNumber } from "./final-number.ts";
import { tagged } from "./tagged.ts";
import { splitThinking } from "./thinking.ts";

/** Where an answer may stand: the last `\boxed{…}`, the only `<answer>…</answer>`, or the last number of the text. */
export const ANSWER_SOURCES = ["boxed", "tag", "number"] as const;
export type AnswerSource = (typeof ANSWER_SOURCES)[number];

export interface AnswerOptions {
  /** Tried in this order; the first that the text has decides. Default: boxed, then number. */
  readonly sources?: readonly AnswerSource[] | undefined;
  /** Name of the answer tag; default `answer`. */
  readonly tag?: string | undefined;
  /** Whether the prompt ends inside a thinking block. */
  readonly thinkingOpened?: boolean | undefined;
}

/**
 * The answer a completion gives after its thinking block, as text, or null when it gives none. A thinking block that never
 * ends is no answer. Where the tag is looked for, several of them are no answer either: a model may not hedge.
 * Never throws; linear in the text's length.
 */
export function finalAnswer(text: string, options: AnswerOptions = {}): string | null {
  const { sources = ["boxed", "number"], tag = "answer", thinkingOpened = false } = options;
  const { answer } = splitThinking(text, thinkingOpened);
  if (answer === null) return null;
  for (const source of sources) {
    if (source === "tag") {
      const element = tagged(answer, tag);
      if (element.found === "several") return null;
      if (element.found === "one") return element.content;
    } else {
      const found = source === "boxed" ? lastBoxed(answer) : finalNumber(answer);
      if (found !== null) return found;
    }
  }
  return null;
}
