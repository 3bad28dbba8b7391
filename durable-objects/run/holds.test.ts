import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import { runAlarms } from "../testing.ts";
import { ACK, group, later, ready, take } from "./testing.ts";

/** Who holds a batch, or a slice of one, and until when. */

const CHANGED = { status: "changed", repeated: false };

afterEach(() => {
  vi.useRealTimers();
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
    expect(await run.acknowledge(1, { ...ACK, trainer: "t" })).toEqual(CHANGED);
  });

  test("is there for its rank although others wait for batches, at once and for one that waits too", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    await take(run, slice(0, 3));
    const others = [take(run, { leaseMs: 60_000, trainer: "other" }, 30_000), take(run, slice(0, 3), 30_000)];
    await expect.poll(async () => (await run.overview()).waitingTrainers).toBe(2);
    expect(await take(run, slice(1, 3))).toMatchObject({ id: 1 });
    {
      using broken = await run.takeBatch(0, slice(2, 3));
      expect(broken).toMatchObject({ batch: { id: 1 } });
      // The slice is out: who asks for it again waits behind the others until it breaks off.
      others.push(take(run, slice(2, 3), 30_000));
      await expect.poll(async () => (await run.overview()).waitingTrainers).toBe(3);
    }
    expect(await others[2]).toMatchObject({ id: 1 });
    await shard.submit([group("c"), group("d"), group("e"), group("f")]);
    expect(
      (await Promise.all(others.slice(0, 2))).map((taken) => (typeof taken === "string" ? taken : taken.id)),
    ).toEqual([2, 3]);
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
  expect(await run.acknowledge(1, { ...ACK, trainer: "one" })).toEqual({ status: "held", holder: "two" });
  expect(await run.release(1, { trainer: "one" })).toEqual({ status: "held", holder: "two" });
  expect(await run.acknowledge(1, { ...ACK, trainer: "two" })).toEqual({ status: "changed", repeated: false });
  expect(await run.acknowledge(1, { ...ACK, trainer: "one" })).toEqual({ status: "changed", repeated: true });
});

test("who gives no name ends nothing that a named trainer holds", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = await ready();
  await shard.submit([group("a"), group("b")]);
  await take(run, { leaseMs: 1_000, trainer: "one" });
  later(1_000);
  await take(run, { leaseMs: 60_000, trainer: "two" });
  expect(await run.acknowledge(1, ACK)).toEqual({ status: "held", holder: "two" });
  expect(await run.release(1)).toEqual({ status: "held", holder: "two" });
  expect((await run.overview()).leasedBatches).toBe(1);
});

describe("a hold that is named", () => {
  test("ends its batch as long as nobody has got it since, whatever the lease says, and not after that", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    const first = await take(run, { leaseMs: 1_000 });
    const hold = typeof first === "string" ? -1 : first.hold;
    later(1_000);
    // A nameless trainer too: its name alone would not tell the two apart.
    expect(await take(run, { leaseMs: 60_000 })).toMatchObject({ id: 1, hold: hold + 1 });
    expect(await run.acknowledge(1, { ...ACK, hold })).toEqual({ status: "held", holder: null });
    expect(await run.release(1, { hold })).toEqual({ status: "held", holder: null });
    later(60_000);
    expect(await run.acknowledge(1, { ...ACK, hold: hold + 1 })).toEqual(CHANGED);
    expect(await run.acknowledge(1, { ...ACK, hold })).toEqual({ ...CHANGED, repeated: true });
  });

  test("ends its batch when its stream broke and nobody has got it since: the last byte may have arrived", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    let hold = -1;
    {
      using broken = await run.takeBatch(0, { leaseMs: 60_000 });
      if (broken.status === "batch") hold = broken.batch.epoch;
    }
    await expect.poll(async () => (await run.overview()).leasedBatches).toBe(0);
    expect(await run.acknowledge(1, { ...ACK, hold })).toEqual(CHANGED);
  });
});

describe("to give a batch back once more", () => {
  const REPEATED = { status: "changed", repeated: true };
  const takeHold = async (run: Awaited<ReturnType<typeof ready>>["run"], asked = {}) => {
    const taken = await take(run, { leaseMs: 60_000, ...asked });
    return typeof taken === "string" ? -1 : taken.hold;
  };

  test("with the hold that was given up changes nothing, not even once somebody else has the batch", async () => {
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    const hold = await takeHold(run);
    expect(await run.release(1, { hold })).toEqual(CHANGED);
    expect(await run.release(1, { hold })).toEqual(REPEATED);
    await evictDurableObject(run);
    expect(await run.release(1, { hold })).toEqual(REPEATED);
    const next = await takeHold(run, { trainer: "two" });
    expect(await run.release(1, { hold })).toEqual(REPEATED);
    expect((await run.overview()).leasedBatches).toBe(1);
    expect(await run.acknowledge(1, { ...ACK, hold })).toEqual({ status: "held", holder: "two" });
    expect(await run.release(1, { hold: next })).toEqual(CHANGED);
    expect(await run.release(1, { hold: next })).toEqual(REPEATED);
    expect(await run.release(1)).toEqual(REPEATED);
  });

  test("is refused with a hold that ended in another way and after which somebody had the batch", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    await shard.submit([group("a"), group("b")]);
    const hold = await takeHold(run);
    later(60_000);
    {
      using broken = await run.takeBatch(0, { leaseMs: 60_000 });
      expect(broken).toMatchObject({ batch: { id: 1 } });
    }
    await expect.poll(async () => (await run.overview()).leasedBatches).toBe(0);
    expect(await run.release(1, { hold })).toEqual({ status: "held", holder: null });
  });
});

test("a batch that was given back is not ended by a late ack of the same hold", async () => {
  const { run, shard } = await ready();
  await shard.submit([group("a"), group("b")]);
  const taken = await take(run, { leaseMs: 60_000 });
  const hold = typeof taken === "string" ? -1 : taken.hold;
  await run.release(1, { hold });
  expect(await run.acknowledge(1, { ...ACK, hold })).toMatchObject({ status: "held" });
  expect(await take(run)).toMatchObject({ id: 1 });
});

test("a lease that is over is served again though its trainer is still reading, whose end counts no more", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = await ready();
  await shard.submit([group("a"), group("b")]);
  using stalled = await run.takeBatch(0, { leaseMs: 1_000, trainer: "one" });
  if (stalled.status === "batch") await stalled.delivery.claim();
  later(1_000);
  await runAlarms(run);
  expect((await run.overview()).explain.reason).toBe("batch_interrupted");
  expect(await take(run, { leaseMs: 60_000, trainer: "two" })).toMatchObject({ id: 1 });
  if (stalled.status === "batch") stalled.delivery[Symbol.dispose]();
  await run.status();
  expect(await take(run)).toBe("none");
  expect(await run.acknowledge(1, { ...ACK, trainer: "two" })).toEqual(CHANGED);
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
