const OPEN = "<think>";
const CLOSE = "</think>";

export interface SplitText {
  /** What the model thought, without the tags; null when there is no thinking block. */
  readonly thinking: string | null;
  /** What follows the thinking block; null when the block never ends, so nothing was answered. */
  readonly answer: string | null;
}

/**
 * Splits a completion at the end of its last thinking block. The opening tag may be missing, because some chat templates put
 * it into the prompt.
 * @param opened whether the prompt ends inside a thinking block: without a closing tag there is then no answer.
 */
export function splitThinking(text: string, opened = false): SplitText {
  const close = text.lastIndexOf(CLOSE);
  const open = text.indexOf(OPEN, close === -1 ? 0 : close);
  if (open !== -1 || (opened && close === -1)) {
    return { thinking: open === -1 ? text : text.slice(open + OPEN.length), answer: null };
  }
  if (close === -1) return { thinking: null, answer: text };
  const start = text.indexOf(OPEN);
  return {
    thinking: text.slice(start === -1 ? 0 : Math.min(start + OPEN.length, close), close),
    answer: text.slice(close + CLOSE.length),
  };
}
