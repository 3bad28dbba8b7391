import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SmallGroup } from "../payload-shard/durable-object.ts";
import { REGISTRATION, type RunStub, runAlarms, type ShardStub } from "../testing.ts";
import type { NewEnvironment } from "./environments.ts";
import { ACK, group, later, ready, take, toldOf } from "./testing.ts";

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

  test("takes nothing else while a floor is unmet, however little it has of it", async () => {
    const { run, shard } = await ready({ batch_size: 8, max_queue_sequences: 8 });
    for (let id = 0; id < 3; id++) await run.registerEnvironment(ENVIRONMENT);
    await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
    await shard.submit([0, 0, 0, 0].map((id) => of(id)));
    for (const group of [of(1), of(2), of(0, 1), of(null, 3)])
      expect(await shard.submit([group])).toMatchObject([full]);
    await shard.submit([of(3)]);
    expect(await take(run)).toBe("none");
    await shard.submit([of(3)]);
    expect(await take(run)).toMatchObject({ id: 1 });
    expect((await run.status()).queueSize).toBe(2);
  });

  test("holds a batch's worth of sequences whatever their text", async () => {
    const { run, shard } = await ready({ max_queue_bytes: 1 });
    expect(await shard.submit([group("long"), group("long")])).toMatchObject([
      { status: "received" },
      { status: "received" },
    ]);
    expect(await shard.submit([group("long")])).toMatchObject([full]);
    expect(await take(run)).toMatchObject({ id: 1 });
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

/** Rows of the notes. */
const written = (run: RunStub) =>
  runInDurableObject(run, (_instance, { storage }) => {
    const count = { heard: "SELECT COUNT(*) AS n FROM heard", hunger: "SELECT COUNT(*) AS n FROM hunger" };
    return Object.fromEntries(
      Object.entries(count).map(([name, query]) => [name, storage.sql.exec<{ n: number }>(query).one().n]),
    );
  });

describe("what is noted of a stall", () => {
  test("is nothing while an awake run's trainer waits a few seconds, and nothing after it has gone", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
    await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.25 });
    await shard.submit([of(1, 3), of(null, 1)]);
    later(3_000);
    for (let second = 0; second < 10; second += 3) {
      expect(await take(run)).toBe("none");
      later(3_000);
    }
    expect(await written(run)).toEqual({ heard: 0, hunger: 0 });
    expect(await take(run)).toBe("none");
    // The floor of the other one is met.
    expect(await written(run)).toEqual({ heard: 1, hunger: 1 });
    later(60_000);
    await run.environmentStatus({ id: 0, label: null });
    expect(await written(run)).toEqual({ heard: 0, hunger: 1 });
  });

  test("is that the log was told: a run that is polled rarely is told of once a minute too", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
    await shard.submit([group("a"), group("b")]);
    const warn = vi.spyOn(console, "warn").mockImplementation(() => undefined);
    for (let second = 0; second <= 150; second += 15) {
      await run.environmentStatus({ id: 0, label: null });
      expect(await take(run)).toBe("none");
      await runAlarms(run);
      await evictDurableObject(run);
      later(15_000);
    }
    const told = toldOf(run, warn).filter(({ event }) => event === "run stalled");
    warn.mockRestore();
    expect(told).toHaveLength(2);
  });
});
