import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { afterEach, expect, test, vi } from "vitest";
import type { SmallGroup } from "../payload-shard/durable-object.ts";
import { freshRun, later, PLAIN, payloadsOf, REGISTRATION, type RunStub, runAlarms, toldOf } from "../testing.ts";

/** What becomes of floors, batches and payloads as time goes by and objects come and go. */

const ENVIRONMENT = { name: "math", label: null, maxTokenLength: 64, groupSize: 2, weight: 1, floor: null };

function small(text: string, sequences = 2, environment: number | null = null): SmallGroup {
  const row = new TextEncoder().encode(text);
  return { environment, sequences, tokens: 6, ...PLAIN, row, bytes: row.length };
}

async function take(run: RunStub): Promise<number | string> {
  using taken = await run.takeBatch(0);
  return taken.status === "batch" ? taken.batch.id : taken.status;
}

afterEach(() => {
  vi.useRealTimers();
});

test("an environment's floor ends after 60 s without a poll or a group, and comes back with the next", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
  await shard.submit([small("a"), small("b"), small("c"), small("d")]);
  expect(await take(run)).toBe("none");
  later(59_000);
  expect(await take(run)).toBe("none");
  await run.environmentStatus({ id: 0, label: null });
  later(59_000);
  expect(await take(run)).toBe("none");
  expect((await run.overview()).explain).toMatchObject({
    reason: "floor_unmet",
    floors: [{ floor_sequences: 2, queued_sequences: 0, last_heard_seconds: 59 }],
  });
  later(1_000);
  expect((await run.overview()).environments).toEqual({ registered: 1, connected: 1, alive: 0 });
  expect(await take(run)).toBe(1);
  await run.delivered(1);
  await run.environmentStatus({ id: 0, label: null });
  expect(await take(run)).toBe("none");
  await shard.submit([small("e", 2, 0)]);
  expect(await take(run)).toBe(2);
});

test("a floor ends when its environment disconnects", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
  await shard.submit([small("a"), small("b")]);
  expect(await take(run)).toBe("none");
  expect(await run.disconnectEnvironment(7)).toBe(false);
  expect(await run.disconnectEnvironment(0)).toBe(true);
  expect(await run.disconnectEnvironment(0)).toBe(true);
  expect(await take(run)).toBe(1);
});

test("a delivered batch's payloads are let go, but the latest group's stays until another came", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await shard.submit([small("a"), small("b")]);
  expect(await take(run)).toBe(1);
  await runDurableObjectAlarm(run);
  expect(await payloadsOf(shard)).toEqual([1, 2]);
  await run.delivered(1);
  expect(await runDurableObjectAlarm(run)).toBe(true);
  expect(await payloadsOf(shard)).toEqual([2]);
  await shard.submit([small("c"), small("d")]);
  await run.delivered(Number(await take(run)));
  await runAlarms(run);
  expect(await payloadsOf(shard)).toEqual([4]);
});

test("payloads of a refused request are let go", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  const verdicts = await shard.submit([small("a"), small("b", 5)]);
  expect(verdicts).toEqual([
    { status: "refused_with_request" },
    { status: "larger_than_batch", sequences: 5, batchSize: 4 },
  ]);
  await runAlarms(run);
  expect(await payloadsOf(shard)).toEqual([]);
});

test("a reset lets go of what the run had, and what came after it stays", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await shard.submit([small("a"), small("b"), small("c")]);
  expect(await take(run)).toBe(1);
  // Known to be confirmed: the shard hears of the next commit.
  await shard.submit([small("d")]);
  await run.reset();
  await run.register(REGISTRATION);
  await shard.submit([small("e"), small("f")]);
  await runAlarms(run);
  expect(await payloadsOf(shard)).toEqual([5, 6]);
  await run.delivered(1);
  expect(await take(run)).toBe(2);
});

test("buffers, floors and unserved batches outlive the object", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await run.registerEnvironment({ ...ENVIRONMENT, groupSize: 4 });
  await run.registerEnvironment({ ...ENVIRONMENT, floor: 0.5 });
  await shard.submit([small("a", 3, 0)]);
  await evictDurableObject(run);
  expect((await run.overview()).explain.buffered).toEqual([{ env_id: 0, sequences: 3, group_size: 4 }]);
  await shard.submit([small("b", 1, 0)]);
  expect(await run.status()).toEqual({ step: 0, queueSize: 2 });
  expect((await run.overview()).explain.reason).toBe("floor_unmet");
  await shard.submit([small("c", 2, 1), small("d", 1)]);
  expect(await take(run)).toBe(1);
  await evictDurableObject(run);
  expect(await run.status()).toMatchObject({ step: 1 });
  expect((await run.overview()).explain.reason).toBe("batch_interrupted");
  expect(await take(run)).toBe(1);
});

test("several who wait are served in the order in which they came", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  const waiting = [1, 2, 3].map(() => run.takeBatch(20_000));
  await expect.poll(async () => (await run.overview()).waitingTrainers).toBe(3);
  using batches = new DisposableStack();
  const served: string[] = [];
  const all = waiting.map(async (request, place) => {
    const taken = batches.use(await request);
    served.push(taken.status === "batch" ? `${place}: ${taken.batch.id}` : taken.status);
  });
  for (const row of ["a", "b", "c", "d", "e", "f"]) await shard.submit([small(row)]);
  await Promise.all(all);
  expect(served).toEqual(["0: 1", "1: 2", "2: 3"]);
});

test("a run whose trainers ask in vain is flagged after a minute, with the reason, and a batch ends that", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await shard.submit([small("a")]);
  for (let second = 0; second < 60; second += 20) {
    expect((await run.overview()).watchdog).toBeNull();
    expect(await take(run)).toBe("none");
    later(20_000);
  }
  expect((await run.overview()).watchdog).toMatchObject({
    stalled: true,
    since_seconds: 60,
    reason: "too_few_sequences",
    message: expect.stringContaining("2 sequences are missing"),
  });
  expect((await run.metrics()).isStalled).toBe(true);
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  await runDurableObjectAlarm(run);
  await runDurableObjectAlarm(run);
  expect(toldOf(run, warned)).toMatchObject([{ message: expect.stringContaining("asked in vain"), stalled: true }]);
  warned.mockRestore();
  await shard.submit([small("b")]);
  expect(await take(run)).toBe(1);
  expect(await run.metrics()).toMatchObject({ isStalled: false, handedOutBatches: 1 });
});
