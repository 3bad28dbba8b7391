import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { SmallGroup } from "../../payload-shard/durable-object.ts";
import { payloadsOf, REGISTRATION, type RunStub, runAlarms } from "../../testing.ts";
import { arrive, environment, group, later, lease, leased, only, outcomes, ready, take, toldOf } from "./testing.ts";

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

describe("items", () => {
  test("each is leased once, in order, also after the object was evicted", async () => {
    const { run } = await ready();
    expect((await leased(run, 2)).map(({ item }) => item)).toEqual([0, 1]);
    await evictDurableObject(run);
    expect((await leased(run, 2)).map(({ item }) => item)).toEqual([2, 3]);
  });

  test("the seed belongs to the item: the same for every attempt, another for the next item", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run } = await ready();
    const [first, second] = await leased(run, 2);
    later(60_000);
    const again = await leased(run, 2);
    expect(again.map(({ item, seed, attempt }) => ({ item, seed, attempt }))).toEqual([
      { item: 0, seed: first?.seed, attempt: 2 },
      { item: 1, seed: second?.seed, attempt: 2 },
    ]);
    expect(first?.seed).not.toBe(second?.seed);
  });

  test("one that is lost again and again is given up and counted", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run } = await ready();
    for (let attempt = 1; attempt <= 5; attempt++) {
      expect(await only(run)).toMatchObject({ item: 0, attempt });
      later(60_000);
    }
    expect(await only(run)).toMatchObject({ item: 1, attempt: 1 });
    expect(await outcomes(run)).toEqual({ expired: { expired: 5 }, failed: { lost_too_often: 1 } });
  });

  test("a registration under the same key goes on where the environment was", async () => {
    const { run } = await ready();
    await only(run);
    const again = await run.registerEnvironment(environment("math", { leaseSequences: 4 }, { groupSize: 4 }));
    expect(again).toMatchObject({ status: "registered", id: 0, wandbName: "math_0" });
    expect(await only(run)).toMatchObject({ item: 1, group_size: 4 });
  });

  test("follow-up items are drawn before new ones, once their lease ended well, and not when it failed", async () => {
    const { run } = await ready();
    const first = await only(run);
    await run.followUpRollout(first.lease_id, ['"lost"']);
    await run.followUpRollout(first.lease_id, ['{"turn":2}', '"b"']);
    await run.closeRollout(first.lease_id, { outcome: "skipped", reason: "equal_scores", endpointFault: false });
    const second = await leased(run, 3);
    expect(second.map(({ item, backlog }) => ({ item, backlog }))).toEqual([
      { item: null, backlog: '{"turn":2}' },
      { item: null, backlog: '"b"' },
      { item: 1, backlog: null },
    ]);
    const failing = second[2]?.lease_id ?? 0;
    await run.followUpRollout(failing, ['"never"']);
    await run.closeRollout(failing, { outcome: "failed", reason: "rollout", endpointFault: false });
    expect(await only(run)).toMatchObject({ item: 2, backlog: null });
  });
});

describe("admission", () => {
  test("queued and leased sequences stay within max_batches_offpolicy batches, and the record says so", async () => {
    const { run, shard } = await ready();
    await shard.submit([group(null), group(null)]);
    const given = await leased(run, 100);
    expect(given).toHaveLength(4);
    expect(await lease(run)).toMatchObject({ status: "none", reason: "admission" });
    expect((await run.overview()).admission).toMatchObject({ limit_sequences: 12, held_sequences: 12 });
    expect(await take(run)).toBe(1);
    expect(await leased(run, 100)).toHaveLength(2);
    const record = await run.listRollouts(null, 0, 100);
    expect(record.map(({ admitted_sequences }) => admitted_sequences)).toEqual([6, 8, 10, 12, 10, 12]);
  });

  test("one that waits is given a lease as soon as there is room", async () => {
    const { run } = await ready();
    const given = await leased(run, 100);
    const waiting = run.leaseRollouts(0, 1, 30_000);
    await expect.poll(async () => (await run.overview()).admission.waiting_environments).toBe(1);
    const ended = given[0]?.lease_id ?? 0;
    await run.closeRollout(ended, { outcome: "skipped", reason: "too_easy", endpointFault: false });
    expect(await waiting).toMatchObject({ status: "leased", leases: [{ item: 6 }] });
  });

  test("room is kept for another environment's floor, so that no queue wedges", async () => {
    const { run } = await ready();
    await run.registerEnvironment(environment("code", {}, { floor: 0.5 }));
    await lease(run, 1, 1);
    expect(await leased(run, 100)).toHaveLength(3);
    expect(await leased(run, 100, 1)).toHaveLength(2);
  });

  test("a run that filled before an environment with a floor came forms a batch without it, and then keeps its floor", async () => {
    const { run, shard } = await ready();
    for (const { lease_id } of await leased(run, 100)) await shard.submit([group(lease_id)]);
    await run.registerEnvironment(environment("code", {}, { floor: 0.5 }));
    expect(await take(run)).toBe("none");
    const waiting = run.takeBatch(20_000);
    await expect.poll(async () => (await run.overview()).waitingTrainers).toBe(1);
    const given = await leased(run, 100, 1);
    using first = await waiting;
    expect(first).toMatchObject({ batch: { id: 1 } });
    expect(given).toHaveLength(2);
    expect(await take(run)).toBe("none");
    await shard.submit([{ ...group(given[0]?.lease_id ?? 0), environment: 1 }]);
    using second = await run.takeBatch(0);
    expect(second.status === "batch" ? second.batch.groups.map((each) => each.environment).toSorted() : null).toEqual([
      0, 1,
    ]);
  });

  test("with weighted mixing each gets its share, however fast it is", async () => {
    const { run } = await ready({ mixing: "weighted" });
    await run.registerEnvironment(environment("code", {}, { weight: 2 }));
    await lease(run, 1, 1);
    expect(await leased(run, 100)).toHaveLength(2);
    expect(await leased(run, 100, 1)).toHaveLength(3);
  });

  test.each([
    ["a lease that can never fit", { leaseSequences: 16 }, "lease_larger_than_admission"],
    ["a run that has ended", {}, "num_steps"],
  ])("%s is told why", async (_what, leasing, reason) => {
    const { run } = await ready(reason === "num_steps" ? { starting_step: 5, num_steps: 5 } : {}, leasing);
    expect(await lease(run)).toMatchObject({ status: reason === "num_steps" ? "finished" : "none", reason });
  });
});

describe("a submission under a lease", () => {
  test("ends it; the same again gets the same answer and queues nothing, also after the object was evicted", async () => {
    const { run, shard } = await ready();
    const { lease_id } = await only(run);
    const first = await shard.submit([group(lease_id, 1), group(lease_id, 1)]);
    expect(first.map(({ status }) => status)).toEqual(["buffered", "buffered"]);
    const again = first.map((verdict) => ({ ...verdict, repeated: true }));
    expect(await shard.submit([group(lease_id, 1), group(lease_id, 1)])).toEqual(again);
    await evictDurableObject(run);
    expect(await shard.submit([group(lease_id, 1), group(lease_id, 1)])).toEqual(again);
    expect(await run.status()).toMatchObject({ queueSize: 2 });
    await runAlarms(run);
    expect(await payloadsOf(shard)).toEqual([1, 2]);
  });

  test.each([
    ["one that expired", "expired"],
    ["one that failed", "failed"],
    ["one of before a reset", "cancelled"],
    ["one that was never given out", "unknown"],
  ])("%s: its groups are not taken", async (_what, outcome) => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    const { lease_id } = await only(run);
    if (outcome === "expired") later(60_000);
    if (outcome === "failed") await run.closeRollout(lease_id, { outcome, reason: "score", endpointFault: false });
    if (outcome === "cancelled") await run.reset();
    const id = outcome === "unknown" ? 99 : lease_id;
    expect(await shard.submit([group(id)])).toEqual([{ status: "lease_is_over", lease: id, outcome }]);
    expect(await run.status()).toMatchObject({ queueSize: 0 });
  });

  test("may not bring more than it allows", async () => {
    const { run, shard } = await ready();
    const { lease_id } = await only(run);
    expect(await shard.submit([group(lease_id), group(lease_id)])).toMatchObject([
      { status: "larger_than_lease", sequences: 4, allowed: 2 },
      { status: "larger_than_lease" },
    ]);
    expect(await shard.submit([group(lease_id)])).toEqual([{ status: "received" }]);
  });

  test("its groups have the policy version of the lease", async () => {
    const { run, shard } = await ready();
    await run.publishPolicy(7, null);
    const first = await only(run);
    await run.publishPolicy(9, null);
    const second = await only(run);
    expect([first.policy_version, second.policy_version]).toEqual([7, 9]);
    await shard.submit([group(first.lease_id)]);
    await shard.submit([group(second.lease_id)]);
    using taken = await run.takeBatch(0);
    expect(taken.status === "batch" ? taken.batch.groups.map((each) => each.policyVersion) : null).toEqual([7, 9]);
  });
});

describe("a batch lease", () => {
  test("holds the batch until it is acknowledged, also over an eviction; an ack counts once", async () => {
    const { run, shard } = await ready();
    await shard.submit([group(null), group(null)]);
    expect(await take(run, 60_000)).toBe(1);
    // Its stream ended without the last byte: it is free at once, and is taken again.
    await expect.poll(() => take(run, 60_000)).toBe(1);
    await arrive(run);
    await evictDurableObject(run);
    expect(await take(run)).toBe("none");
    expect(await run.acknowledge(1, { step: 1, metrics: { reward_mean: 0.5 }, trainer: null, hold: null })).toEqual({
      status: "changed",
      repeated: false,
    });
    expect(await run.acknowledge(1, { step: 1, metrics: {}, trainer: null, hold: null })).toEqual({
      status: "changed",
      repeated: true,
    });
    expect((await run.overview()).trainer).toEqual({ batch: 1, step: 1, metrics: { reward_mean: 0.5 } });
    expect(await run.acknowledge(2, { step: null, metrics: {}, trainer: null, hold: null })).toEqual({
      status: "unknown",
      last: 1,
    });
  });

  test("that ends without an ack, or is released, gives the batch to the next, under the same id", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const { run, shard } = await ready();
    await shard.submit([group(null), group(null)]);
    using first = await run.takeBatch(0, { leaseMs: 60_000 });
    expect(first.status).toBe("batch");
    await run.delivered(1);
    expect(await take(run)).toBe("none");
    first[Symbol.dispose]();
    later(60_000);
    using second = await run.takeBatch(0, { leaseMs: 60_000 });
    expect(second).toMatchObject({ batch: { id: 1, step: 1 } });
    await run.delivered(1);
    expect(await run.release(1)).toEqual({ status: "changed", repeated: false });
    expect(await run.release(1)).toEqual({ status: "changed", repeated: true });
    expect(await take(run)).toBe(1);
  });
});

test("groups staler than max_staleness are dropped at hand-out and counted", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run, shard } = await ready({ max_staleness: 1 });
  const at = (policyVersion: number): SmallGroup => ({ ...group(null), policyVersion });
  // Each batch leaves one group of the older version behind, which is one step stale when the next takes it.
  await shard.submit([at(0), at(0), at(0)]);
  expect(await take(run)).toBe(1);
  await run.delivered(1);
  await shard.submit([at(1), at(1)]);
  expect(await take(run)).toBe(2);
  await run.delivered(2);
  await shard.submit([at(2), at(2)]);
  expect(await take(run)).toBe(3);
  await run.delivered(3);
  await shard.submit([at(1), at(1)]);
  expect(await take(run)).toBe("none");
  expect(await outcomes(run)).toEqual({ dropped: { stale: 2 } });
  const [last, ...others] = await run.listDropped(10);
  expect([last, ...others].map((dropped) => dropped?.reason)).toEqual(["stale", "stale"]);
  expect(await run.droppedGroup(last?.age ?? 0)).toEqual(last);
  // They can be looked at for an hour. Then one payload is left that is queued, and the last one, which is shown.
  await runAlarms(run);
  expect(await payloadsOf(shard)).toHaveLength(3);
  later(3_600_000);
  await runAlarms(run);
  expect(await payloadsOf(shard)).toHaveLength(2);
  expect(await run.listDropped(10)).toEqual([]);
});

describe("after a reset", () => {
  /** The run is reset, and another environment is the first to register. */
  async function another(run: RunStub): Promise<void> {
    await run.reset();
    await run.register(REGISTRATION);
    await run.registerEnvironment(environment("code"));
  }

  test("an id is another environment's, and whoever tells its key is told so", async () => {
    const { run } = await ready();
    expect(await run.leaseRollouts(0, 1, 0, "math")).toMatchObject({ status: "leased" });
    await another(run);
    expect(await run.leaseRollouts(0, 1, 0, "math")).toEqual({ status: "another_environment", name: "code_0" });
    expect(await run.leaseRollouts(0, 1, 0, "code")).toMatchObject({ status: "leased", leases: [{ item: 0 }] });
  });

  test("a request that waited gets no lease of the environment that has its id now", async () => {
    const { run } = await ready();
    await leased(run, 100);
    const waiting = run.leaseRollouts(0, 1, 30_000);
    await expect.poll(async () => (await run.overview()).admission.waiting_environments).toBe(1);
    await another(run);
    expect(await waiting).toEqual({ status: "unknown_environment", registered: 0 });
  });
});

test("failures and expiries are logged with run, environment and lease", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const warned = vi.spyOn(console, "warn").mockImplementation(() => undefined);
  const { run } = await ready();
  const { lease_id } = await only(run);
  const failure = { reason: "inference_timeout", message: "no answer within 60 s", endpointFault: true };
  await run.renewRollout(lease_id, failure);
  await run.closeRollout(lease_id, { outcome: "failed", ...failure });
  const lost = await only(run);
  later(60_000);
  await only(run);
  const common = { environment: 0, name: "math_0" };
  expect(toldOf(run, warned)).toMatchObject([
    { event: "rollout attempt failed", ...common, lease: lease_id, reason: failure.reason, why: failure.message },
    { event: "rollout failed", ...common, lease: lease_id, reason: failure.reason, why: failure.message },
    { event: "rollout lease expired", ...common, lease: lost.lease_id, item: 1, attempt: 1 },
  ]);
});
