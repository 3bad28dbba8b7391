/** The figures of one run, as an object for scripts and as a table for people. */
import type { Encoding, SizeName } from "./bodies.ts";
import type { Throughput } from "./load.ts";
import { DELIVERED_GROUPS, ENCODINGS, type Growth, type Round, SIZE_NAMES } from "./rounds.ts";
import { median, medianRatio } from "./stats.ts";

export interface Measured {
  readonly name: string;
  readonly rounds: readonly Round[];
  readonly growth: Growth;
  readonly memory: Memory;
}

/** Resident bytes of the server's process tree; null if it was not started here. */
export interface Memory {
  readonly idle: number | null;
  /** The highest of those read after each measurement of the rounds. */
  readonly peak: number | null;
  /** At each level of the growth measurement. */
  readonly queued: readonly (number | null)[];
}

type Rate = "groups" | "textBytes";

/** What a round says about one kind of work, as a rate a second; `both` is the work of both encodings over their time. */
function postRate(round: Round, size: SizeName, encoding: Encoding | "both", rate: Rate): number {
  const work = round.post[size];
  return rateOf(encoding === "both" ? [work.plain, work.gzip] : [work[encoding]], rate);
}

function rateOf(work: readonly Throughput[], rate: Rate): number {
  const sum = (key: Rate | "seconds") => work.reduce((total, part) => total + part[key], 0);
  return sum(rate) / sum("seconds");
}

export function ratios(ours: readonly Round[], theirs: readonly Round[]): Record<string, number> {
  const ratio = (rate: (round: Round) => number) => medianRatio(ours.map(rate), theirs.map(rate));
  return Object.fromEntries([
    ...SIZE_NAMES.map((size) => [`post_${size}`, ratio((round) => postRate(round, size, "both", "groups"))]),
    ...ENCODINGS.map((encoding) => [
      `deliver_${encoding}`,
      ratio((round) => rateOf([round.deliver[encoding]], "textBytes")),
    ]),
  ]);
}

/** Time at the longest queue over time at the shortest. */
export function growthRatios({ poll, post }: Growth): { poll: number; post: number } {
  const ratio = (seconds: readonly number[]) => (seconds.at(-1) ?? Number.NaN) / (seconds[0] ?? Number.NaN);
  return { poll: ratio(poll), post: ratio(post) };
}

export function asObject(ours: Measured, stock: Measured | null): Record<string, unknown> {
  return {
    ratio: stock && ratios(ours.rounds, stock.rounds),
    growth: { ...growthRatios(ours.growth), queued: ours.growth.queued },
    rounds: ours.rounds.length,
    lachesis: figures(ours),
    stock: stock && figures(stock),
  };
}

function figures({ rounds, growth, memory }: Measured): Record<string, unknown> {
  const post = SIZE_NAMES.flatMap((size) =>
    ([...ENCODINGS, "both"] as const).map((encoding) => [
      `post_${size}_${encoding}`,
      {
        groups_per_second: median(rounds.map((round) => postRate(round, size, encoding, "groups"))),
        megabytes_per_second: median(rounds.map((round) => postRate(round, size, encoding, "textBytes"))) / 1e6,
      },
    ]),
  );
  const deliver = ENCODINGS.map((encoding) => [
    `deliver_${encoding}`,
    { megabytes_per_second: deliveryRate(rounds, encoding) / 1e6 },
  ]);
  const milliseconds = (seconds: readonly number[]) => seconds.map((value) => value * 1000);
  return {
    ...Object.fromEntries([...post, ...deliver]),
    growth_milliseconds: { poll: milliseconds(growth.poll), post: milliseconds(growth.post), queued: growth.queued },
    memory_bytes: memory,
  };
}

function deliveryRate(rounds: readonly Round[], encoding: Encoding): number {
  return median(rounds.map((round) => rateOf([round.deliver[encoding]], "textBytes")));
}

export function asText(ours: Measured, stock: Measured | null): string {
  const servers = stock ? [ours, stock] : [ours];
  return [
    `Rounds: ${ours.rounds.length} (the median is shown). MB is 1,000,000 bytes of JSON text, whatever its encoding on the wire.`,
    ...(stock ? ["ratio: Lachesis's rate over the stock server's (median of the rounds' own ratios)."] : []),
    "",
    table(throughputRows(servers)),
    "",
    table(growthRows(servers)),
    "",
    table(memoryRows(servers)),
  ].join("\n");
}

function throughputRows(servers: readonly Measured[]): string[][] {
  const ratio = (rate: (round: Round) => number): string[] => {
    const [ours, stock] = servers;
    return ours && stock ? [number(medianRatio(ours.rounds.map(rate), stock.rounds.map(rate)))] : [];
  };
  const posts = SIZE_NAMES.flatMap((size) =>
    ([...ENCODINGS, "both"] as const).map((encoding) => [
      `post ${size}, ${encoding}`,
      ...servers.flatMap(({ rounds }) => [
        `${number(median(rounds.map((round) => postRate(round, size, encoding, "groups"))))}/s`,
        `${number(median(rounds.map((round) => postRate(round, size, encoding, "textBytes"))) / 1e6)} MB/s`,
      ]),
      ...ratio((round) => postRate(round, size, encoding, "groups")),
    ]),
  );
  const deliveries = ENCODINGS.map((encoding) => [
    `deliver ${DELIVERED_GROUPS} medium, ${encoding}`,
    ...servers.flatMap(({ rounds }) => ["", `${number(deliveryRate(rounds, encoding) / 1e6)} MB/s`]),
    ...ratio((round) => rateOf([round.deliver[encoding]], "textBytes")),
  ]);
  const head = ["", ...servers.flatMap(({ name }) => [name, ""]), ...(servers.length > 1 ? ["ratio"] : [])];
  return [head, ...posts, ...deliveries];
}

function growthRows(servers: readonly Measured[]): string[][] {
  const levels = servers[0]?.growth.queued ?? [];
  const rows = (["poll", "post"] as const).flatMap((kind) =>
    servers.map(({ name, growth }) => [
      `${kind === "poll" ? "empty poll" : "post"}, ${name}`,
      ...growth[kind].map((seconds) => `${number(seconds * 1000)} ms`),
      number(growthRatios(growth)[kind]),
    ]),
  );
  return [["groups queued", ...levels.map((level) => level.toLocaleString("en")), "growth"], ...rows];
}

function memoryRows(servers: readonly Measured[]): string[][] {
  const megabytes = (bytes: number | null) => (bytes === null ? "unknown" : `${number(bytes / 1e6)} MB`);
  const levels = servers[0]?.growth.queued ?? [];
  return [
    ["memory", "idle", "peak", ...levels.map((level) => `${level.toLocaleString("en")} queued`)],
    ...servers.map(({ name, memory }) => [name, ...[memory.idle, memory.peak, ...memory.queued].map(megabytes)]),
  ];
}

/** Three digits that count, or all of a larger number's. */
function number(value: number): string {
  return value >= 100
    ? Math.round(value).toLocaleString("en")
    : value.toLocaleString("en", { minimumSignificantDigits: 3, maximumSignificantDigits: 3 });
}

/** The first column left-aligned, the others right. */
function table(rows: readonly (readonly string[])[]): string {
  const widths = (rows[0] ?? []).map((_, column) => Math.max(...rows.map((row) => row[column]?.length ?? 0)));
  return rows
    .map((row) =>
      row
        .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
        .join("  ")
        .trimEnd(),
    )
    .join("\n");
}
