import type { HistogramCounts } from "../../durable-objects/run/histogram.ts";

export type Labels = Readonly<Record<string, string>>;

/** Metrics of one name. */
export type Family = {
  readonly name: string;
  readonly help: string;
} & (
  | { readonly type: "counter" | "gauge"; readonly samples: readonly { labels: Labels; value: number }[] }
  | { readonly type: "histogram"; readonly samples: readonly { labels: Labels; counts: HistogramCounts }[] }
);

export const EXPOSITION_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/**
 * Prometheus' text format, version 0.0.4
 * (https://prometheus.io/docs/instrumenting/exposition_formats/#text-based-format).
 */
export function exposition(families: readonly Family[]): string {
  return families.map((family) => `${head(family)}${lines(family).join("")}`).join("");
}

function head({ name, help, type }: Family): string {
  return `# HELP ${name} ${help.replaceAll("\\", "\\\\").replaceAll("\n", "\\n")}\n# TYPE ${name} ${type}\n`;
}

function lines(family: Family): string[] {
  const { name } = family;
  if (family.type !== "histogram") return family.samples.map(({ labels, value }) => line(name, labels, value));
  return family.samples.flatMap(({ labels, counts }) => histogramLines(name, labels, counts));
}

/** The buckets add up, and the last one, +Inf, holds all. */
function histogramLines(name: string, labels: Labels, { bounds, counts, sum }: HistogramCounts): string[] {
  let total = 0;
  const buckets = counts.map((count, bucket) => {
    total += count;
    const le = number(bounds[bucket] ?? Number.POSITIVE_INFINITY);
    return line(`${name}_bucket`, { ...labels, le }, total);
  });
  return [...buckets, line(`${name}_sum`, labels, sum), line(`${name}_count`, labels, total)];
}

function line(name: string, labels: Labels, value: number): string {
  const pairs = Object.entries(labels).map(([label, text]) => `${label}="${escapeLabel(text)}"`);
  return `${name}${pairs.length === 0 ? "" : `{${pairs.join(",")}}`} ${number(value)}\n`;
}

function escapeLabel(text: string): string {
  return text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n").replaceAll('"', '\\"');
}

function number(value: number): string {
  if (value === Number.POSITIVE_INFINITY) return "+Inf";
  return value === Number.NEGATIVE_INFINITY ? "-Inf" : String(value);
}
