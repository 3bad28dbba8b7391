import type { z } from "zod";

/** Longest excerpt of a value in a message, in characters. */
const EXCERPT = 60;

/** Lines that don't parse or fit. The message names line (counted from 1), field, value and what is wrong. */
export class JsonlError extends Error {
  override readonly name = "JsonlError";
  /** Counted from 1. */
  readonly line: number;

  constructor(source: string, line: number, what: string) {
    super(`${source}, line ${line}: ${what}`);
    this.line = line;
  }
}

/**
 * Reads JSON Lines: one JSON value a line, each checked by the schema. Empty lines and a byte order mark are skipped.
 * @param source what messages call the text: a file's name or an address.
 * @throws JsonlError at the first line that doesn't parse or fit, and when there is no line at all.
 */
export function parseJsonl<Schema extends z.ZodType>(text: string, schema: Schema, source: string): z.output<Schema>[] {
  const rows: z.output<Schema>[] = [];
  for (const [index, line] of text
    .replace(/^\uFEFF/, "")
    .split("\n")
    .entries()) {
    if (line.trim() !== "") rows.push(parseLine(line, schema, source, index + 1));
  }
  if (rows.length === 0) throw new JsonlError(source, 1, "there are no rows; give one JSON object a line");
  return rows;
}

function parseLine<Schema extends z.ZodType>(
  line: string,
  schema: Schema,
  source: string,
  number: number,
): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    throw new JsonlError(source, number, `this is no JSON: ${excerpt(line.trim())}`);
  }
  const row = schema.safeParse(value);
  if (row.success) return row.data;
  const faults = row.error.issues.map(({ path, message }) => {
    const found = path.reduce<unknown>((at, key) => Object(at)[key], value);
    const shown = found === undefined ? "missing" : excerpt(JSON.stringify(found));
    return `${path.length === 0 ? "the row" : path.join(".")} is ${shown}: ${message}`;
  });
  throw new JsonlError(source, number, faults.join("; "));
}

function excerpt(text: string): string {
  return text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
}
