/** What a text holds of a tag: its only element's content, trimmed; none; or several (also nested or cut off). */
export type Tagged = { found: "one"; content: string } | { found: "none" | "several" };

/** Looks for exactly one `<tag>…</tag>`. Case counts. */
export function tagged(text: string, tag: string): Tagged {
  const [open, close] = [`<${tag}>`, `</${tag}>`];
  const start = text.indexOf(open);
  const end = text.indexOf(close);
  if (start === -1 && end === -1) return { found: "none" };
  const once = start === text.lastIndexOf(open) && end === text.lastIndexOf(close);
  if (!once) return { found: "several" };
  if (start === -1 || end < start) return { found: "none" };
  return { found: "one", content: text.slice(start + open.length, end).trim() };
}
