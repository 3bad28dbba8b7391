import { z } from "zod";
import { parseNumber } from "../kit/answers/index.ts";
import { parseJsonl } from "../kit/items/jsonl.ts";
import type { Gsm8kItem } from "./item.ts";

const row = z.object({
  question: z.string().min(1),
  answer: z.string().transform((answer, context) => {
    const mark = answer.lastIndexOf("####");
    const value = mark === -1 ? null : parseNumber(answer.slice(mark + 4));
    if (value !== null) return { answer, value };
    context.issues.push({ code: "custom", input: answer, message: 'must end in "#### " and a number' });
    return z.NEVER;
  }),
});

/** A row of GSM8K, read into an item. */
export const gsm8kRow = row.transform(({ question, answer }): Gsm8kItem => ({ question, ...answer }));

/**
 * Reads GSM8K's JSON Lines.
 * @param source what messages call the text.
 * @throws JsonlError that names line and field.
 */
export function parseItems(text: string, source: string): Gsm8kItem[] {
  return parseJsonl(text, gsm8kRow, source);
}
