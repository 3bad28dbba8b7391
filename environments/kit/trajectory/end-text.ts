import { InferenceError, type Renderer } from "../inference/index.ts";

/** Texts of end tokens, which never change for a renderer. */
const known = new WeakMap<Renderer, Map<number, Promise<string>>>();

/** The text of an end token; empty where the server can't tell. */
export function endText(renderer: Renderer, end: number): Promise<string> {
  const texts = known.get(renderer) ?? new Map<number, Promise<string>>();
  known.set(renderer, texts);
  const text = texts.get(end) ?? renderer.decode([end]).catch(emptyIfUnsupported);
  texts.set(end, text);
  text.catch(() => texts.delete(end));
  return text;
}

function emptyIfUnsupported(error: unknown): string {
  const missing = error instanceof InferenceError && [404, 405, 501].includes(error.status ?? 0);
  if (missing) return "";
  throw error;
}
