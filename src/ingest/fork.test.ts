import { env } from "cloudflare:test";
import { expect, test } from "vitest";
import type { SmallGroup } from "../../durable-objects/payload-shard/durable-object.ts";
import { ROW_BYTES } from "../../durable-objects/payloads.ts";
import type { Fork } from "../../durable-objects/run/fork-progress.ts";
import type { Registration } from "../../durable-objects/run/registration.ts";
import { freshRun, PLAIN, payloadsOf, REGISTRATION, runAlarms } from "../../durable-objects/testing.ts";
import { call } from "../testing.ts";
import { continueFork } from "./fork.ts";

let runs = 0;

function group(note: string, change: Partial<SmallGroup> = {}): SmallGroup {
  const row = new TextEncoder().encode(JSON.stringify({ note }));
  return { environment: null, sequences: 2, tokens: 6, ...PLAIN, row, bytes: row.length, ...change };
}

/** A run with these groups, and one to fork it into, with its only shard. */
async function scene(notes: readonly string[], settings: Partial<Registration> = {}) {
  const { run: source, shard: from } = freshRun();
  await source.register({ ...REGISTRATION, batch_size: 2, payload_shards: 1, ...settings });
  await from.submit(notes.map((note) => group(note)));
  const name = `fork-${runs++}`;
  const target = env.RUN.getByName(name);
  return { from: source.name ?? "", source, shard: from, name, target, to: env.PAYLOAD_SHARD.getByName(`${name}/0`) };
}

async function fork(target: string, from: string, step: number | null = null) {
  const { status, text } = await call("POST", `/runs/${target}/fork`, { from, step });
  const answer: Record<string, unknown> = JSON.parse(text);
  return { status, answer };
}

/** Begins a fork as the route does, and copies nothing. */
async function begin({ source, target, from }: Awaited<ReturnType<typeof scene>>): Promise<Fork> {
  const found = await source.forkOrigin(null);
  const begun = found.status === "found" ? await target.beginFork(from, null, found.origin) : null;
  if (begun === null) throw new Error("the fork could not begin");
  return begun;
}

/** Notes of the groups of all batches there are, in order. */
async function batchesOf(run: string): Promise<string[]> {
  const notes: string[] = [];
  for (;;) {
    using taken = await env.RUN.getByName(run).takeBatch(0);
    if (taken.status !== "batch") return notes;
    await env.RUN.getByName(run).delivered(taken.batch.id, taken.batch.epoch);
    for (const { shard, payload } of taken.batch.groups) {
      const [row] = await env.PAYLOAD_SHARD.getByName(`${run}/${shard}`).read([payload * 4096]);
      notes.push(JSON.parse(new TextDecoder().decode(row)).note);
    }
  }
}

const ONE_LIST = { calls: 2, bytes: 1, listBytes: 1 };

test("a disk that is full is said, and the call made again goes on where the first one stopped", async () => {
  const { from, name, target, to } = await scene(["a", "b", "c"]);
  const large = new Uint8Array(ROW_BYTES);
  // More than the 8 MiB that these tests' deployment allows.
  for (let mib = 0; mib < 8; mib++) await to.submit([group("large", { row: large, sequences: 3 })]);
  const refused = await fork(name, from);
  expect(refused.status).toBe(503);
  expect(refused.answer["detail"]).toContain("0 of 3 groups are copied");
  expect(await target.registration()).toBeNull();
  for (const payload of await payloadsOf(to)) await to.discard([{ payload }]);
  expect(await fork(name, from)).toEqual({
    status: 200,
    answer: { status: "forked", from, step: 0, groups: 3, remaining: 0 },
  });
});

test("a queue of more groups than one call copies is copied by several, and the run begins with the last one", async () => {
  const there = await scene(["a", "b", "c"]);
  const { name, target, shard, source, from } = there;
  const begun = await begin(there);
  // What comes after the fork began stays with the other run alone.
  await shard.submit([group("later")]);
  expect(await continueFork(env, name, begun, ONE_LIST)).toMatchObject({ groups: 1, complete: false });
  expect(await target.takeBatch(0)).toEqual({ status: "unregistered" });
  expect(await target.register(REGISTRATION)).toEqual({ status: "forking", from });
  expect((await target.overview()).explain.message).toContain(`being forked from ${from}`);
  expect(await continueFork(env, name, (await target.fork()) ?? begun, ONE_LIST)).toMatchObject({ groups: 2 });
  // One that knows of none of that finds out.
  expect(await continueFork(env, name, begun)).toMatchObject({ groups: 3, complete: true });
  expect(await batchesOf(name)).toEqual(["a", "b", "c"]);
  expect((await source.status()).queueSize).toBe(4);
});

test("two calls at once copy each group once", async () => {
  const notes = Array.from({ length: 40 }, (_, index) => `group ${index}`);
  const { from, name, target } = await scene(notes);
  const origin = await env.RUN.getByName(from).forkOrigin(null);
  if (origin.status !== "found") throw new Error(origin.status);
  const begun = await target.beginFork(from, null, origin.origin);
  if (begun === null) throw new Error("registered");
  const limits = { ...ONE_LIST, calls: 1_000, bytes: 1_000_000 };
  await Promise.all([1, 2].map(() => continueFork(env, name, begun, limits)));
  expect(await batchesOf(name)).toEqual(notes);
});

test("12,000 groups are copied in lists, by one call", async () => {
  const { from, name, source, shard } = await scene([]);
  for (let list = 0; list < 3; list++) await shard.submit(Array.from({ length: 4_000 }, () => group("x")));
  expect((await fork(name, from)).answer).toMatchObject({ status: "forked", groups: 12_000 });
  expect((await source.status()).queueSize).toBe(12_000);
});

test("groups that passed the filters of the run they come from are not judged again", async () => {
  const filters = { equal_scores: true, min_mean_score: 0.2, max_mean_score: null, max_sequence_length: null };
  const { from, name } = await scene(["a", "b"], { filters });
  await fork(name, from);
  expect(await batchesOf(name)).toEqual(["a", "b"]);
});

test.each([["before the fork begins"], ["between its first look and its beginning"]])(
  "a trainer that registers %s keeps its run: 409",
  async (when) => {
    const there = await scene(["a"]);
    const found = await there.source.forkOrigin(null);
    await there.target.register({ ...REGISTRATION, batch_size: 7 });
    if (when.startsWith("between") && found.status === "found") {
      expect(await there.target.beginFork(there.from, null, found.origin)).toBeNull();
    }
    const { status, answer } = await fork(there.name, there.from);
    expect([status, answer["detail"]]).toEqual([409, expect.stringContaining("has a trainer already")]);
    expect(await there.target.registration()).toMatchObject({ batch_size: 7 });
    expect(await there.target.status()).toMatchObject({ queueSize: 0 });
  },
);

test("a call whose answer was lost is answered as before; one for another step is refused", async () => {
  const { from, name, target } = await scene(["a", "b"]);
  const first = await fork(name, from);
  await batchesOf(name);
  expect(await fork(name, from)).toEqual(first);
  expect((await target.status()).queueSize).toBe(0);
  expect((await fork(name, from, 0)).status).toBe(409);
});

test("a run that is reset while it is forked gets none of the copies that were on their way", async () => {
  const there = await scene(["a", "b"]);
  const begun = await begin(there);
  await there.target.reset();
  await expect(continueFork(env, there.name, begun)).rejects.toThrow("was reset while it was being forked");
  expect((await there.target.status()).queueSize).toBe(0);
  await runAlarms(there.target);
  expect(await payloadsOf(there.to)).toEqual([]);
  expect((await fork(there.name, there.from)).answer).toMatchObject({ status: "forked", groups: 2 });
});

test.each<[string, (there: Awaited<ReturnType<typeof scene>>) => Promise<unknown>]>([
  ["forms a batch", ({ from }) => batchesOf(from)],
  [
    "is reset and registered anew",
    async ({ source }) => {
      await source.reset();
      await source.register(REGISTRATION);
    },
  ],
])("a run that %s while it is forked is not copied by half: 409", async (_what, change) => {
  const there = await scene(["a", "b"]);
  await begin(there);
  await change(there);
  const { status, answer } = await fork(there.name, there.from);
  expect([status, answer["detail"]]).toEqual([409, expect.stringContaining("since this fork began")]);
  expect(await there.target.registration()).toBeNull();
});
