import type { SmallGroup } from "../payload-shard/durable-object.ts";
import { freshRun, PLAIN, REGISTRATION, type RunStub, type ShardStub } from "../testing.ts";

export { later, toldOf } from "../testing.ts";

/** A group of two sequences, whose row is the text. */
export function group(text: string, change: Partial<SmallGroup> = {}): SmallGroup {
  const row = new TextEncoder().encode(text);
  return { ...PLAIN, environment: null, sequences: 2, tokens: 6, row, bytes: row.length, ...change };
}

/** A run with a trainer: batches of 4. */
export async function ready(settings: Partial<typeof REGISTRATION> = {}) {
  const { run, shard } = freshRun();
  await run.register({ ...REGISTRATION, ...settings });
  return { run, shard };
}

export interface Asked {
  readonly leaseMs?: number;
  readonly trainer?: string;
  readonly slice?: { readonly rank: number; readonly worldSize: number };
}

/** A batch that was read to its end. */
export interface Read {
  readonly id: number;
  readonly step: number;
  readonly hold: number;
  readonly payloads: readonly number[];
}

/** Takes a batch and reads it to its end. */
export async function take(run: RunStub, asked: Asked = {}, waitMs = 0): Promise<Read | string> {
  using taken = await run.takeBatch(waitMs, asked);
  if (taken.status !== "batch") return taken.status;
  const { id, step, epoch, groups } = taken.batch;
  await run.delivered(id, epoch, asked.slice?.rank ?? null);
  return { id, step, hold: epoch, payloads: groups.map(({ payload }) => payload) };
}

/** Hands out so many batches of two groups each. */
export async function handOut(run: RunStub, shard: ShardStub, batches: number): Promise<void> {
  for (let batch = 0; batch < batches; batch++) {
    await shard.submit([group("a"), group("b")]);
    await take(run);
  }
}

/** An ack that says nothing. */
export const ACK = { step: null, metrics: {}, trainer: null, hold: null };
