import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SmallGroup } from "../payload-shard/durable-object.ts";
import { REGISTRATION, type RunStub, type ShardStub } from "../testing.ts";
import type { NewEnvironment } from "./environments.ts";
import { ACK, group, later, ready, take } from "./testing.ts";

/** What must not keep a trainer waiting for ever, and what a person is told meanwhile. */

const ENVIRONMENT: NewEnvironment = {
  name: "env",
  label: null,
  maxTokenLength: 64,
  groupSize: 1,
  weight: 1,
  floor: null,
};

const full = { status: "queue_full" };
const of = (environment: number | null, sequences = 2, change: Partial<SmallGroup> = {}) =>
  group(`of ${environment}`, { environment, sequences, ...change });

async function explained(run: RunStub): Promise<string> {
  const { reason, message } = (await run.overview()).explain;
  return `${reason}: ${message}`;
}

/** Fills the disk of the test's objects, which is small. */
async function fillDisk(shard: ShardStub): Promise<void> {
  const row = new Uint8Array(1_000_000);
  for (;;) {
    const [verdict] = await shard.submit([{ ...group("large"), row, bytes: row.length }]);
    if (verdict?.status === "disk_full") return;
  }
}

afterEach(() => {
  vi.useRealTimers();
});

describe("a full queue", () => {
  test("takes what an unmet floor asks for, and no more: without it no batch would make room", async () => {
    const { run, shard } = await ready({ max_queue_sequences: 8 });
    await run.registerEnvironment(ENVIRONMENT);
    await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
    await shard.submit([0, 0, 0, 0].map((id) => of(id)));
    expect(await take(run)).toBe("none");
    expect(await shard.submit([of(0)])).toMatchObject([full]);
    expect(await shard.submit([of(1)])).toEqual([{ status: "received" }]);
    expect(await shard.submit([of(1)])).toMatchObject([full]);
    expect(await take(run)).toMatchObject({ id: 1 });
  });

  test("takes a size with which the others add up to a batch", async () => {
    const { run, shard } = await ready({ max_queue_sequences: 9 });
    await shard.submit([of(null, 3), of(null, 3), of(null, 3)]);
    expect(await take(run)).toBe("none");
    expect(await shard.submit([of(null, 3)])).toMatchObject([full]);
    expect(await shard.submit([of(null, 1)])).toEqual([{ status: "received" }]);
    expect(await take(run)).toMatchObject({ id: 1 });
  });

  test("never holds more than twice what it may", async () => {
    const { shard } = await ready({ batch_size: 64, max_queue_sequences: 64 });
    await shard.submit(Array.from({ length: 21 }, () => of(null, 3)));
    for (let size = 60; size > 0; size -= 5) await shard.submit([of(null, size)]);
    expect(await shard.submit([of(null, 63)])).toMatchObject([full]);
  });

  test("has bounds before a trainer registers too", async () => {
    const { run, shard } = await ready();
    await run.reset();
    const large = () => shard.submit(Array.from({ length: 100 }, () => of(null, 10_000)));
    expect(await large()).toContainEqual({ status: "received" });
    expect(await large()).toContainEqual(expect.objectContaining(full));
  });

  test("is told as the cause, and counted", async () => {
    const { run, shard } = await ready({ max_queue_sequences: 6 });
    await shard.submit([of(null, 3), of(null, 3)]);
    await shard.submit([of(null, 3)]);
    expect(await explained(run)).toMatch(
      /^sizes_do_not_add_up.*requests with groups were refused lately \(queue_full: 1\)/,
    );
    expect((await run.metrics()).telemetry.refusals).toEqual([{ reason: "queue_full", count: 1 }]);
  });
});

test("on a full disk a floor that can't be met is suspended, and counts again with its environment's next group", async () => {
  const { run, shard } = await ready();
  await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
  await shard.submit([of(null), of(null)]);
  expect(await explained(run)).toMatch(/^floor_unmet/);
  await fillDisk(shard);
  await expect.poll(() => take(run)).toMatchObject({ id: 1 });
  expect((await run.metrics()).telemetry.refusals).toContainEqual({ reason: "disk_full", count: 1 });
});

describe("explain", () => {
  test("doesn't call a batch ready that would be made of stale groups", async () => {
    const { run, shard } = await ready({ max_staleness: 0 });
    await shard.submit([0, 1, 2, 3].map(() => of(null, 2, { policyVersion: 0 })));
    await take(run);
    expect(await explained(run)).toMatch(/^too_few_sequences: 4 of the 4 queued sequences are staler .*\(0\)/);
    expect(await take(run)).toBe("none");
    expect(await explained(run)).toMatch(/groups that came lately were dropped \(stale: 2\)/);
  });

  test("names the filter that drops what comes, for a minute", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready({ filters: { ...REGISTRATION.filters, equal_scores: true } });
    await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
    await shard.submit([of(0, 2, { scores: { min: 1, mean: 1, max: 1 } }), of(null), of(null)]);
    expect(await explained(run)).toMatch(/^floor_unmet.*dropped \(equal_scores: 1\)/);
    later(60_001);
    expect(await explained(run)).not.toContain("equal_scores");
  });
});

describe("the watchdog", () => {
  test("sees a batch that is served again and again and never arrives; an ack ends that", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    for (let second = 0; second < 80; second += 20) {
      expect((await run.overview()).watchdog).toBeNull();
      {
        using taken = await run.takeBatch(0, { leaseMs: 60_000 });
        expect(taken.status).toBe("batch");
      }
      await expect.poll(async () => (await run.overview()).leasedBatches).toBe(0);
      later(20_000);
    }
    expect((await run.overview()).watchdog).toMatchObject({ reason: "batch_interrupted", since_seconds: 60 });
    await take(run, { leaseMs: 60_000 });
    await run.acknowledge(1, ACK);
    expect((await run.overview()).watchdog).toBeNull();
  });
});

test("a silent environment's floor ends, and the watchdog speaks, though the object sleeps between the trainer's polls", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = await ready();
  await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
  await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.25 });
  await shard.submit([group("a"), group("b")]);
  for (let second = 0; second < 75; second += 15) {
    expect(await take(run), `after ${second} s`).toBe("none");
    // The other one is heard from, and no floor of it may end.
    await run.environmentStatus({ id: 1, label: null });
    await evictDurableObject(run);
    later(15_000);
  }
  expect((await run.overview()).watchdog).toMatchObject({ reason: "floor_unmet", since_seconds: 75 });
  expect((await run.overview()).explain.floors.map(({ env_id }) => env_id)).toEqual([1]);
  await run.disconnectEnvironment(1);
  expect(await take(run)).toMatchObject({ id: 1 });
});
