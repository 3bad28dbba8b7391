import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { payloadsOf, REGISTRATION, runAlarms } from "../testing.ts";
import { ACK, group, handOut, ready, take } from "./testing.ts";

/** A trainer that goes back, and how long batches are kept for it. */

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
    expect(again).toMatchObject({ batch: { id: 1, epoch: 2 } });
    await run.delivered(1, 0);
    await run.delivered(1, 1);
    expect((await run.overview()).openBatches).toBe(1);
    await run.delivered(1, 2);
    expect((await run.overview()).openBatches).toBe(0);
  });

  test("leaves a batch before its step alone, also one that is still being read", async () => {
    const { run, shard } = await ready({ keep_steps: 9 });
    await shard.submit([group("a"), group("b")]);
    using first = await run.takeBatch(0);
    await handOut(run, shard, 2);
    await run.register(REGISTRATION, 2);
    expect(await take(run)).toMatchObject({ id: 3 });
    expect(await take(run)).toBe("none");
    expect(first).toMatchObject({ batch: { id: 1 } });
  });

  test("an ack of an earlier life doesn't end a batch that was opened again, before it is taken and after", async () => {
    const { run, shard } = await ready({ keep_steps: 9 });
    await shard.submit([group("a"), group("b")]);
    const lease = { leaseMs: 60_000, trainer: "t" };
    const before = await take(run, lease);
    const hold = typeof before === "string" ? -1 : before.hold;
    await run.register(REGISTRATION, 0);
    expect(await run.acknowledge(1, { ...ACK, trainer: "t" })).toEqual({ status: "rewound" });
    expect(await run.acknowledge(1, { ...ACK, hold })).toEqual({ status: "rewound" });
    expect(await run.release(1, { trainer: "t" })).toEqual({ status: "rewound" });
    await evictDurableObject(run);
    expect(await run.acknowledge(1, ACK)).toEqual({ status: "rewound" });
    expect(await take(run, lease)).toMatchObject({ id: 1 });
    expect(await run.acknowledge(1, { ...ACK, trainer: "t", hold })).toEqual({ status: "held", holder: "t" });
    expect(await run.acknowledge(1, { ...ACK, trainer: "t", hold: hold + 2 })).toEqual({
      status: "changed",
      repeated: false,
    });
  });

  test("of a request that comes again goes back once, over restarts; another one goes back again", async () => {
    const { run, shard } = await ready({ keep_steps: 9 });
    await handOut(run, shard, 2);
    await run.register(REGISTRATION, 0, "r:one");
    expect(await take(run)).toMatchObject({ id: 1 });
    await run.register(REGISTRATION, 0, "r:one");
    expect(await take(run)).toMatchObject({ id: 2 });
    await evictDurableObject(run);
    expect(await run.register(REGISTRATION, 0, "r:one")).toMatchObject({ status: "registered" });
    expect(await take(run)).toBe("none");
    await run.register(REGISTRATION, 0, "r:two");
    expect(await take(run)).toMatchObject({ id: 1 });
  });

  test("while payloads are let go: nothing that is leaving is promised, and nothing kept is lost", async () => {
    const { run, shard } = await ready({ keep_steps: 1 });
    await handOut(run, shard, 3);
    const answer = await runInDurableObject(run, async (instance) => {
      const alarm = instance.alarm();
      // The alarm waits for its shard now.
      await Promise.resolve();
      const registered = instance.register(REGISTRATION, 0);
      await alarm;
      return registered;
    });
    expect(answer).toEqual({ status: "not_kept", step: 3, keptFrom: 3 });
    await runAlarms(run);
    expect(await payloadsOf(shard)).toEqual([5, 6]);
    expect(await run.keptBatch(2)).toBeNull();
    await run.register(REGISTRATION, 2);
    expect(await take(run)).toMatchObject({ id: 3, payloads: [5, 6] });
  });

  test("a round of letting go that broke off is ended by the next life of the object", async () => {
    const { run, shard } = await ready({ keep_steps: 1 });
    await handOut(run, shard, 3);
    await runInDurableObject(run, (_instance, { storage }) => {
      storage.sql.exec("UPDATE batch SET delivered = 2 WHERE id = 1");
    });
    await evictDurableObject(run);
    await runAlarms(run);
    expect(await payloadsOf(shard)).toEqual([5, 6]);
  });

  test("no more text is kept than keep_bytes", async () => {
    const { run, shard } = await ready({ keep_steps: 100, keep_bytes: 4 });
    await handOut(run, shard, 5);
    await runAlarms(run);
    expect(await payloadsOf(shard)).toEqual([7, 8, 9, 10]);
  });
});
