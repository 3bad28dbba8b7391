import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import { ROW_BYTES } from "../payloads.ts";
import { payloadsOf, runAlarms } from "../testing.ts";
import { ACK, group, later, ready, take } from "./testing.ts";

/** What is taken once, handed out once, kept for a while, or refused. */

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
    await run.acknowledge(2, ACK);
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
