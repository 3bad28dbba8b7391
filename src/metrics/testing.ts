/** One sample of a scrape. */
export interface Sample {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

export interface Scrape {
  readonly types: ReadonlyMap<string, string>;
  readonly helps: ReadonlyMap<string, string>;
  readonly samples: readonly Sample[];
}

const SAMPLE = /^([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})? (\S+)$/;
const LABEL = /([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\\n]|\\["\\n])*)"(?:,|$)/y;
const SUFFIX = /_(?:bucket|sum|count)$/;

/**
 * Reads Prometheus' text format 0.0.4, strictly enough to find what a scraper would stumble over.
 * @throws Error that names the line.
 */
export function parseExposition(text: string): Scrape {
  if (!text.endsWith("\n")) throw new Error("the last line has no line feed");
  const types = new Map<string, string>();
  const helps = new Map<string, string>();
  const samples: Sample[] = [];
  const seen = new Set<string>();
  for (const line of text.slice(0, -1).split("\n")) {
    const [, comment, family = "", rest = ""] = /^# (HELP|TYPE) (\S+) (.*)$/.exec(line) ?? [];
    if (comment !== undefined) {
      const kept = comment === "HELP" ? helps : types;
      if (kept.has(family)) throw new Error(`a second ${comment} of ${family}`);
      kept.set(family, rest);
      continue;
    }
    const sample = parseSample(line);
    const base = types.has(sample.name) ? sample.name : sample.name.replace(SUFFIX, "");
    if (!types.has(base)) throw new Error(`a sample before its TYPE: ${line}`);
    if ([...types.keys()].at(-1) !== base) throw new Error(`a sample away from its family: ${line}`);
    const key = JSON.stringify([sample.name, Object.entries(sample.labels).toSorted()]);
    if (seen.has(key)) throw new Error(`a series stands twice: ${line}`);
    seen.add(key);
    samples.push(sample);
  }
  return { types, helps, samples };
}

function parseSample(line: string): Sample {
  const [, name, pairs = "", value] = SAMPLE.exec(line) ?? [];
  if (name === undefined || value === undefined) throw new Error(`not a sample: ${line}`);
  return { name, labels: parseLabels(pairs, line), value: parseNumber(value, line) };
}

function parseLabels(pairs: string, line: string): Record<string, string> {
  const labels: Record<string, string> = {};
  LABEL.lastIndex = 0;
  let at = 0;
  while (at < pairs.length) {
    const [whole, label, text] = LABEL.exec(pairs) ?? [];
    if (whole === undefined || label === undefined || text === undefined) throw new Error(`not a label: ${line}`);
    if (label in labels) throw new Error(`a label stands twice: ${line}`);
    labels[label] = text.replaceAll(/\\(.)/g, (_escape, sign: string) => (sign === "n" ? "\n" : sign));
    at += whole.length;
  }
  return labels;
}

function parseNumber(text: string, line: string): number {
  if (text === "+Inf") return Number.POSITIVE_INFINITY;
  if (text === "-Inf") return Number.NEGATIVE_INFINITY;
  const value = Number(text);
  if (Number.isNaN(value) && text !== "NaN") throw new Error(`not a number: ${line}`);
  return value;
}
