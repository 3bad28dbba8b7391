/** What is measured, and how much of it makes one round. */
import { type Encoding, GroupSource, SIZES, type SizeName, TINY } from "./bodies.ts";
import type { Client, Throughput } from "./load.ts";
import { median } from "./stats.ts";

export const SIZE_NAMES = ["small", "medium", "large"] as const satisfies readonly SizeName[];
export const ENCODINGS = ["plain", "gzip"] as const satisfies readonly Encoding[];

export interface Round {
  readonly post: Readonly<Record<SizeName, Readonly<Record<Encoding, Throughput>>>>;
  readonly deliver: Readonly<Record<Encoding, Throughput>>;
}

export interface Growth {
  /** Groups in the queue at each measurement, in rising order. */
  readonly queued: readonly number[];
  /** Median seconds of an empty poll, and of a post, at each. */
  readonly poll: readonly number[];
  readonly post: readonly number[];
}

export interface Workload {
  /** Posts of one encoding in a round. */
  readonly posts: Readonly<Record<SizeName, number>>;
  readonly warmUpPosts: Readonly<Record<SizeName, number>>;
  readonly growthLevels: readonly number[];
  readonly growthSamples: number;
  readonly growthPasses: number;
}

export const FULL: Workload = {
  posts: { small: 2000, medium: 128, large: 8 },
  warmUpPosts: { small: 1000, medium: 32, large: 4 },
  growthLevels: [1_000, 10_000, 100_000],
  growthSamples: 300,
  growthPasses: 3,
};

export const QUICK: Workload = {
  posts: { small: 500, medium: 32, large: 4 },
  warmUpPosts: { small: 200, medium: 8, large: 4 },
  growthLevels: [1_000, 10_000],
  growthSamples: 100,
  growthPasses: 1,
};

const CONNECTIONS: Readonly<Record<SizeName, number>> = { small: 16, medium: 8, large: 4 };
const DISTINCT_TOKEN_ARRAYS: Readonly<Record<SizeName, number>> = { small: 64, medium: 16, large: 4 };
export const DELIVERED_GROUPS = 64;
/** More sequences than are ever queued, so that no batch is ready. */
const NEVER_READY = 65_535;

export type Sources = Readonly<Record<SizeName, GroupSource>>;

export function makeSources(): Sources {
  const source = (size: SizeName) => new GroupSource(SIZES[size], DISTINCT_TOKEN_ARRAYS[size]);
  return { small: source("small"), medium: source("medium"), large: source("large") };
}

/** Lets the server compile and open what it needs; not counted. */
export async function warmUp(client: Client, sources: Sources, work: Workload): Promise<void> {
  for (const size of SIZE_NAMES) {
    for (const encoding of ENCODINGS) await measurePosts(client, sources, size, encoding, work.warmUpPosts[size]);
  }
}

/** @param afterEach called after each measurement, before what it queued is cleared */
export async function measureRound(
  client: Client,
  sources: Sources,
  work: Workload,
  afterEach: () => Promise<void>,
): Promise<Round> {
  const post = async (size: SizeName, encoding: Encoding) => {
    const throughput = await measurePosts(client, sources, size, encoding, work.posts[size]);
    await afterEach();
    return throughput;
  };
  const both = async (size: SizeName) => ({ plain: await post(size, "plain"), gzip: await post(size, "gzip") });
  const deliver = async (encoding: Encoding) => {
    const throughput = await measureDelivery(client, sources, encoding);
    await afterEach();
    return throughput;
  };
  const round = {
    post: { small: await both("small"), medium: await both("medium"), large: await both("large") },
    deliver: { plain: await deliver("plain"), gzip: await deliver("gzip") },
  };
  await client.reset();
  return round;
}

/** @param afterLevel called while the level's groups are queued */
export async function measureGrowth(client: Client, work: Workload, afterLevel: () => Promise<void>): Promise<Growth> {
  const samples = work.growthSamples;
  const source = new GroupSource(TINY, DISTINCT_TOKEN_ARRAYS.small);
  source.envId = await client.startRun(NEVER_READY, TINY);
  const posts = () => times(samples, () => client.timePost(source.next("plain")));
  const polls = () => times(samples, () => client.pollEmpty());
  await posts(); // warms up; not counted
  await polls();

  const growth = { queued: [...work.growthLevels], poll: [] as number[], post: [] as number[] };
  let queued = samples;
  for (const level of work.growthLevels) {
    await client.fill(source, level - samples - queued);
    growth.post.push(median(await posts()));
    queued = level;
    growth.poll.push(median(await polls()));
    await afterLevel();
  }
  await client.reset();
  return growth;
}

/** Level by level, the median of several passes. */
export function medianGrowth(passes: readonly Growth[]): Growth {
  const queued = passes[0]?.queued ?? [];
  const at = (kind: "poll" | "post") => queued.map((_, level) => median(passes.map((pass) => pass[kind][level] ?? 0)));
  return { queued, poll: at("poll"), post: at("post") };
}

async function measurePosts(
  client: Client,
  sources: Sources,
  size: SizeName,
  encoding: Encoding,
  count: number,
): Promise<Throughput> {
  const source = sources[size];
  source.envId = await client.startRun(NEVER_READY, SIZES[size]);
  return client.postGroups(source, { count, concurrency: CONNECTIONS[size], encodings: [encoding] });
}

async function measureDelivery(client: Client, sources: Sources, encoding: Encoding): Promise<Throughput> {
  const source = sources.medium;
  source.envId = await client.startRun(DELIVERED_GROUPS * SIZES.medium.sequences, SIZES.medium);
  const posted = await client.postGroups(source, {
    count: DELIVERED_GROUPS,
    concurrency: CONNECTIONS.medium,
    encodings: ENCODINGS,
  });
  return client.takeBatch(encoding, posted.serials);
}

async function times(count: number, measure: () => Promise<number>): Promise<number[]> {
  const seconds: number[] = [];
  for (let i = 0; i < count; i++) seconds.push(await measure());
  return seconds;
}
