import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SmallGroup } from "../payload-shard/durable-object.ts";
import { ROW_BYTES } from "../payloads.ts";
import { freshRun, PLAIN, payloadsOf, REGISTRATION, type RunStub, runAlarms } from "../testing.ts";

/** What is taken once, handed out once, kept for a while, or refused. */

function group(text: string, change: Partial<SmallGroup> = {}): SmallGroup {
  const row = new TextEncoder().encode(text);
  return { ...PLAIN, environment: null, sequences: 2, tokens: 6, row, bytes: row.length, ...change };
}

async function ready(settings: Partial<typeof REGISTRATION> = {}) {
  const { run, shard } = freshRun();
  await run.register({ ...REGISTRATION, ...settings });
  return { run, shard };
}

interface Asked {
  readonly leaseMs?: number;
  readonly trainer?: string;
  readonly slice?: { readonly rank: number; readonly worldSize: number };
}

/** Takes a batch and reads it to its end. */
async function take(
  run: RunStub,
  asked: Asked = {},
): Promise<{ id: number; step: number; payloads: number[] } | string> {
  using taken = await run.takeBatch(0, asked);
  if (taken.status !== "batch") return taken.status;
  const { id, step, epoch, groups } = taken.batch;
  await run.delivered(id, epoch, asked.slice?.rank ?? null);
  return { id, step, payloads: groups.map(({ payload }) => payload) };
}

/** Hands out so many batches of two groups each. */
async function handOut(run: RunStub, shard: ReturnType<typeof freshRun>["shard"], batches: number): Promise<void> {
  for (let batch = 0; batch < batches; batch++) {
    await shard.submit([group("a"), group("b")]);
    await take(run);
  }
}

const ack = { step: null, metrics: {}, trainer: null };

function later(milliseconds: number): void {
  vi.setSystemTime(Date.now() + milliseconds);
}

afterEach(() => {
  vi.useRealTimers();
});

describe("an idempotency key", () => {
  test("that comes again gets the first answer and queues nothing, over restarts, for a day", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    await run.registerEnvironment({
      ...{ name: "math", label: null, maxTokenLength: 64, groupSize: 4, weight: 1, floor: null },
    });
    const sent = [group("a", { key: "k:1" }), group("b", { key: "k:1", environment: 0 })];
    const first = await shard.submit(sent);
    expect(first).toEqual([{ status: "received" }, { status: "buffered", bufferedSequences: 2 }]);
    const again = first.map((verdict) => ({ ...verdict, repeated: true }));
    expect(await shard.submit(sent)).toEqual(again);
    await evictDurableObject(run);
    later(86_400_000);
    expect(await shard.submit(sent)).toEqual(again);
    expect(await run.status()).toMatchObject({ queueSize: 1 });
    await runAlarms(run);
    expect(await payloadsOf(shard)).toEqual([1, 2]);
    later(2 * 86_400_000);
    await runAlarms(run);
    for (const verdict of await shard.submit(sent)) expect(verdict).not.toHaveProperty("repeated");
  });

  test("of a request that was refused is not used up", async () => {
    const { run, shard } = await ready({ max_queue_sequences: 4 });
    await shard.submit([group("a"), group("b")]);
    expect(await shard.submit([group("c", { key: "k:1" })])).toMatchObject([{ status: "queue_full" }]);
    await take(run);
    expect(await shard.submit([group("c", { key: "k:1" })])).toEqual([{ status: "received" }]);
  });
});

describe("slices", () => {
  const slice = (rank: number, worldSize = 2) => ({ leaseMs: 60_000, trainer: "t", slice: { rank, worldSize } });

  test("each rank gets its part of one batch, and together they get all of it", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b"), group("c"), group("d")]);
    const [first, second] = [await take(run, slice(0)), await take(run, slice(1))];
    expect([first, second]).toMatchObject([
      { id: 1, payloads: [1] },
      { id: 1, payloads: [2] },
    ]);
    // A rank that is ahead goes on with the next batch.
    expect(await take(run, slice(1))).toMatchObject({ id: 2, payloads: [4] });
    await evictDurableObject(run);
    expect(await take(run, slice(0))).toMatchObject({ id: 2, payloads: [3] });
    expect(await take(run, slice(0))).toBe("none");
    expect(await run.acknowledge(1, ack)).toEqual({ status: "changed", repeated: false });
  });

  test("one that broke off is served to its rank again, and the others' stay theirs", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    expect(await take(run, slice(0))).toMatchObject({ payloads: [1] });
    {
      using broken = await run.takeBatch(0, slice(1));
      expect(broken.status).toBe("batch");
    }
    await expect.poll(() => take(run, slice(1))).toMatchObject({ id: 1, payloads: [2] });
    expect(await take(run, slice(0))).toBe("none");
  });

  test("one that broke off before another rank came leaves the batch free for any rank, and for other trainers", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b"), group("c"), group("d")]);
    const breakOff = async () => {
      using broken = await run.takeBatch(0, slice(0));
      expect(broken).toMatchObject({ batch: { id: 1 } });
    };
    await breakOff();
    await expect.poll(async () => (await run.overview()).leasedBatches).toBe(0);
    await breakOff();
    await expect.poll(async () => (await run.overview()).leasedBatches).toBe(0);
    expect(await take(run, { leaseMs: 60_000, trainer: "other" })).toMatchObject({ id: 1, payloads: [1, 2] });
  });

  test("of another trainer or another world size are no part of it", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    await take(run, slice(0));
    expect(await take(run, { ...slice(1), trainer: "u" })).toBe("none");
    expect(await take(run, slice(1, 4))).toBe("none");
  });
});

test("a batch is acknowledged by who holds it: not by another trainer, and once", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = await ready();
  await shard.submit([group("a"), group("b")]);
  await take(run, { leaseMs: 60_000, trainer: "one" });
  later(60_000);
  expect(await take(run, { leaseMs: 60_000, trainer: "two" })).toMatchObject({ id: 1 });
  expect(await run.acknowledge(1, { ...ack, trainer: "one" })).toEqual({ status: "held", holder: "two" });
  expect(await run.release(1, "one")).toEqual({ status: "held", holder: "two" });
  expect(await run.acknowledge(1, { ...ack, trainer: "two" })).toEqual({ status: "changed", repeated: false });
  expect(await run.acknowledge(1, { ...ack, trainer: "one" })).toEqual({ status: "changed", repeated: true });
});

test.each([
  ["leased", 60_000],
  ["plain", 0],
])(
  "a %s batch that is given back before its arrival is reported is served again; the late report counts for nothing",
  async (_what, leaseMs) => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    using taken = await run.takeBatch(0, { leaseMs });
    const epoch = taken.status === "batch" ? taken.batch.epoch : -1;
    await run.release(1);
    await run.delivered(1, epoch);
    using again = await run.takeBatch(0, { leaseMs: 60_000 });
    expect(again).toMatchObject({ batch: { id: 1 } });
    // The first one's report, once more: the second hold has not arrived, so when its stream breaks it is free at once.
    await run.delivered(1, epoch);
    if (again.status === "batch") again.delivery[Symbol.dispose]();
    await expect.poll(() => take(run)).toMatchObject({ id: 1 });
  },
);

test("a lease that ended and was taken anew is not ended by what is said of the first", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = await ready();
  await shard.submit([group("a"), group("b")]);
  const first = await run.takeBatch(0, { leaseMs: 1_000 });
  const epoch = first.status === "batch" ? first.batch.epoch : -1;
  if (first.status === "batch") first.delivery[Symbol.dispose]();
  await expect.poll(async () => (await run.overview()).leasedBatches).toBe(0);
  using plain = await run.takeBatch(0);
  expect(plain).toMatchObject({ batch: { id: 1 } });
  await run.delivered(1, epoch);
  expect((await run.overview()).openBatches).toBe(1);
});

describe("rewind", () => {
  test("serves every batch after a step again, in order, then new ones; payloads are kept for keep_steps", async () => {
    const { run, shard } = await ready({ keep_steps: 3 });
    await handOut(run, shard, 5);
    await runAlarms(run);
    expect(await payloadsOf(shard)).toEqual([5, 6, 7, 8, 9, 10]);
    expect((await run.keptBatch(3))?.groups.map(({ payload }) => payload)).toEqual([5, 6]);
    expect(await run.keptBatch(2)).toBeNull();
    expect(await run.register(REGISTRATION, 1)).toEqual({ status: "not_kept", step: 5, keptFrom: 3 });
    expect(await run.register(REGISTRATION, 3)).toMatchObject({ status: "registered" });
    await evictDurableObject(run);
    await shard.submit([group("x"), group("y")]);
    expect(await take(run)).toMatchObject({ id: 4, step: 4, payloads: [7, 8] });
    expect(await take(run)).toMatchObject({ id: 5, step: 5 });
    expect(await take(run)).toMatchObject({ id: 6, step: 6, payloads: [11, 12] });
  });

  test("to the step at which the run is changes nothing, the environments' states neither", async () => {
    const { run, shard } = await ready({ save_checkpoint_interval: 2, keep_steps: 9 });
    await run.registerEnvironment({ name: "e", label: null, maxTokenLength: 8, groupSize: 1, weight: 1, floor: null });
    await run.saveEnvironmentState(0, 0, '{"at":1}');
    await handOut(run, shard, 2);
    await run.saveEnvironmentState(0, 1, '{"at":2}');
    await run.register(REGISTRATION, 2);
    expect(await run.environmentState(0)).toMatchObject({ version: 2, state: '{"at":2}' });
    expect(await take(run)).toBe("none");
    await run.register(REGISTRATION, 1);
    expect(await take(run)).toMatchObject({ id: 2 });
  });

  test("what an earlier life still says of a batch doesn't count", async () => {
    const { run, shard } = await ready({ keep_steps: 3 });
    await shard.submit([group("a"), group("b")]);
    using old = await run.takeBatch(0);
    expect(old.status).toBe("batch");
    await run.register(REGISTRATION, 0);
    using again = await run.takeBatch(0);
    expect(again).toMatchObject({ batch: { id: 1, epoch: 1 } });
    await run.delivered(1, 0);
    expect((await run.overview()).openBatches).toBe(1);
    await run.delivered(1, 1);
    expect((await run.overview()).openBatches).toBe(0);
  });

  test("no more text is kept than keep_bytes", async () => {
    const { run, shard } = await ready({ keep_steps: 100, keep_bytes: 4 });
    await handOut(run, shard, 5);
    await runAlarms(run);
    expect(await payloadsOf(shard)).toEqual([7, 8, 9, 10]);
  });
});

describe("filters", () => {
  const filters = { equal_scores: true, min_mean_score: 0.2, max_mean_score: 0.8, max_sequence_length: 10 };
  const scores = (min: number, mean: number, max: number) => ({ scores: { min, mean, max } });
  test.each([
    ["equal scores", scores(0.5, 0.5, 0.5), "equal_scores"],
    ["too hard", scores(0, 0.1, 1), "mean_score_too_low"],
    ["too easy", scores(0, 0.9, 1), "mean_score_too_high"],
    ["too long", { longest: 11 }, "too_long"],
  ])("%s: counted, kept to be looked at, never in a batch", async (_what, change, reason) => {
    const { run, shard } = await ready({ filters });
    const sent = group("odd", { ...change, key: "k:odd" });
    expect(await shard.submit([sent])).toEqual([{ status: "filtered", reason }]);
    expect(await shard.submit([sent])).toEqual([{ status: "filtered", reason, repeated: true }]);
    expect(await run.listDropped(10)).toMatchObject([{ reason, payload: 1 }]);
    // What is dropped is made up for by what comes.
    await shard.submit([group("a"), group("b")]);
    expect(await take(run)).toMatchObject({ payloads: [3, 4] });
  });
});

describe("bounds", () => {
  test.each([
    ["sequences", { max_queue_sequences: 5 }, /6 sequences of at most 5/],
    ["bytes", { max_queue_bytes: 2 }, /3 bytes of at most 2/],
  ])(
    "a queue full of %s refuses groups until a batch is taken, and batches go on",
    async (_what, settings, message) => {
      const { run, shard } = await ready(settings);
      await shard.submit([group("a"), group("b")]);
      expect(await shard.submit([group("c")])).toEqual([
        { status: "queue_full", message: expect.stringMatching(message) },
      ]);
      expect(await take(run)).toMatchObject({ id: 1 });
      expect(await shard.submit([group("c")])).toEqual([{ status: "received" }]);
    },
  );

  test("groups under a lease, whose room was kept, are taken by a full queue", async () => {
    const { run, shard } = await ready({ max_queue_sequences: 2 });
    const endpoint = { url: "http://gpu", model: "m", backend: "vllm" as const, secret: null };
    await run.publishPolicy(null, [{ ...endpoint, max_training_requests: 8, max_evaluation_requests: 8 }]);
    await run.registerEnvironment({ name: "e", label: null, maxTokenLength: 8, groupSize: 1, weight: 1, floor: null });
    const answer = await run.leaseRollouts(0, 1, 0);
    const lease = answer.status === "leased" ? (answer.leases[0]?.lease_id ?? 0) : 0;
    await shard.submit([group("a")]);
    expect(await shard.submit([group("b", { lease, sequences: 1 })])).toEqual([{ status: "received" }]);
  });

  test("a full disk refuses groups; batches, acks and deletes go on, and then there is room", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    const row = new Uint8Array(ROW_BYTES);
    // More than the 8 MiB that these tests' deployment allows.
    for (let mib = 0; mib < 8; mib++) await shard.submit([group("large", { row })]);
    expect(await shard.submit([group("c")])).toEqual([{ status: "disk_full" }]);
    expect(await shard.openUpload()).toBeNull();
    expect(await take(run)).toMatchObject({ payloads: [1, 2] });
    expect(await take(run, { leaseMs: 60_000 })).toMatchObject({ payloads: [3, 4] });
    await run.acknowledge(2, ack);
    await runAlarms(run);
    expect(await shard.submit([group("c")])).toEqual([{ status: "received" }]);
  });
});

test("realised shares and staleness are counted by environment", async () => {
  const { run, shard } = await ready();
  for (const name of ["a", "b"])
    await run.registerEnvironment({ name, label: null, maxTokenLength: 8, groupSize: 1, weight: 1, floor: null });
  await shard.submit([group("a", { environment: 0, sequences: 3 }), group("b", { environment: 1, sequences: 1 })]);
  await take(run);
  await shard.submit([group("a", { environment: 0, sequences: 4, policyVersion: 0 })]);
  await take(run);
  expect(await run.listEnvironments(-1, 10)).toMatchObject([
    { share: 7 / 8, handed_out_groups: 2, handed_out_sequences: 7, staleness: { 0: 1, 1: 1 } },
    { share: 1 / 8, handed_out_groups: 1, handed_out_sequences: 1, staleness: { 0: 1 } },
  ]);
});
