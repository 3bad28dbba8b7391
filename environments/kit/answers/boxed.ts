const BOX = /\\boxed\s?$/;

/**
 * The content of the last `\boxed{…}` whose braces are balanced, trimmed; the inner one of nested boxes.
 * Null when no box is closed. Escaped braces (`\{`) don't count. One pass over the text.
 */
export function lastBoxed(text: string): string | null {
  /** Open braces, innermost last: where a box's content starts, or null for any other brace. */
  const open: (number | null)[] = [];
  let last: { start: number; end: number } | null = null;
  for (let i = 0; i < text.length; i++) {
    const character = text[i];
    if (character === "\\" && (text[i + 1] === "{" || text[i + 1] === "}")) {
      i++;
    } else if (character === "{") {
      // The longest match is `\boxed `.
      open.push(BOX.test(text.slice(Math.max(0, i - 7), i)) ? i + 1 : null);
    } else if (character === "}") {
      const start = open.pop() ?? null;
      if (start !== null && start > (last?.start ?? 0)) last = { start, end: i };
    }
  }
  return last === null ? null : text.slice(last.start, last.end).trim();
}
