import { readFileSync } from "node:fs";
import { z } from "zod";

const step = z.object({
  request: z.object({
    method: z.string(),
    path: z.string(),
    json: z.unknown().optional(),
    text: z.string().optional(),
    headers: z.record(z.string(), z.string()).optional(),
    gzip: z.boolean().optional(),
  }),
  response: z.object({
    status: z.number(),
    content_type: z.string(),
    content_encoding: z.string().nullable(),
    body: z.unknown(),
  }),
  /** What is right where the recorded answer is a defect. */
  ours: z.string().optional(),
});

export type Step = z.infer<typeof step>;

const scenario = z.object({ name: z.string(), steps: z.array(step) });
export type Scenario = z.infer<typeof scenario>;

/** JSON numbers as they are spelt, so that 1.0 and 1 differ. */
export class Spelt {
  readonly spelling: string;
  constructor(spelling: string) {
    this.spelling = spelling;
  }
}

/** A string or a number of JSON text. */
const STRING_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g;
/** Marks a number that was made a string; no recorded text starts with it. */
const MARK = "\u0001";

/** Parses JSON and keeps how numbers are spelt. */
export function parseSpelt(text: string): unknown {
  const marked = text.replaceAll(STRING_OR_NUMBER, (match) =>
    match.startsWith('"') ? match : JSON.stringify(MARK + match),
  );
  return JSON.parse(marked, (_key, value: unknown) =>
    typeof value === "string" && value.startsWith(MARK) ? new Spelt(value.slice(MARK.length)) : value,
  );
}

/** The recorded exchanges; bodies and requests with numbers as they are spelt. */
export function readScenarios(): Scenario[] {
  const text = readFileSync(new URL("./atropos-exchanges.json", import.meta.url), "utf8");
  const spelt = z.array(z.object({ steps: z.array(z.object({ request: z.unknown(), response: z.unknown() })) }));
  const bodies = spelt.parse(parseSpelt(text));
  return z
    .array(scenario)
    .parse(JSON.parse(text))
    .map((entry, i) => ({
      ...entry,
      steps: entry.steps.map((plain, j) => {
        const body: unknown = Reflect.get(Object(bodies[i]?.steps[j]?.response), "body");
        const json: unknown = Reflect.get(Object(bodies[i]?.steps[j]?.request), "json");
        return {
          ...plain,
          request: "json" in plain.request ? { ...plain.request, json } : plain.request,
          response: { ...plain.response, body },
        };
      }),
    }));
}

/** Prints JSON with numbers as they are spelt, with Python's separators, and with sorted keys. */
export function printSpelt(value: unknown): string {
  if (value instanceof Spelt) return value.spelling;
  if (Array.isArray(value)) return `[${value.map(printSpelt).join(", ")}]`;
  if (typeof value === "object" && value !== null) {
    return `{${Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, entry]) => `${JSON.stringify(key)}: ${printSpelt(entry)}`)
      .join(", ")}}`;
  }
  return JSON.stringify(value);
}
