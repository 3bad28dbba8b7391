import { evictDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import type { Commit, CommittedGroup } from "../payloads.ts";
import { freshRun, PLAIN, REGISTRATION, type RunStub } from "../testing.ts";

afterEach(() => {
  vi.useRealTimers();
});

function group(payload: number, sequences = 2, environment: number | null = null): CommittedGroup {
  return { environment, sequences, tokens: sequences, ...PLAIN, payload, rows: 1, bytes: 10 };
}

const commit = (sequence: number, ...groups: CommittedGroup[]): Commit => ({ shard: 0, sequence, requests: [groups] });

async function takenPayloads(run: RunStub): Promise<{ id: number; step: number; payloads: number[] } | string> {
  using taken = await run.takeBatch(0);
  if (taken.status !== "batch") return taken.status;
  const { id, step, groups } = taken.batch;
  return { id, step, payloads: groups.map(({ payload }) => payload) };
}

const environment = { name: "math", label: null, maxTokenLength: 64, groupSize: 4, weight: 1, floor: null };

describe("a commit that is sent again", () => {
  test("changes nothing and gets the same verdicts, also after the object was evicted", async () => {
    const { run } = freshRun();
    await run.register(REGISTRATION);
    await run.registerEnvironment(environment);
    const mixed: Commit = { shard: 0, sequence: 1, requests: [[group(1)], [group(2, 8)], [group(3, 2, 0)]] };
    const verdicts = await run.commit(mixed);
    expect(verdicts.flat().map(({ status }) => status)).toEqual(["received", "larger_than_batch", "buffered"]);
    expect(await run.commit(mixed)).toEqual(verdicts);
    await evictDurableObject(run);
    expect(await run.commit(mixed)).toEqual(verdicts);
    expect(await run.status()).toEqual({ step: 0, queueSize: 1 });
  });
});

test("a commit that is sent again says of a repeated request that it was repeated", async () => {
  const { run } = freshRun();
  await run.register(REGISTRATION);
  const keyed = { ...group(1), key: "k:1" };
  await run.commit({ shard: 0, sequence: 1, requests: [[keyed]] });
  const repeated: Commit = { shard: 0, sequence: 2, requests: [[{ ...keyed, payload: 2 }]] };
  const verdicts = await run.commit(repeated);
  expect(verdicts).toEqual([[{ status: "received", repeated: true }]]);
  expect(await run.commit(repeated)).toEqual(verdicts);
});

describe("a batch that was not delivered", () => {
  test("is served again with its id, step and order, when its stream broke and when the object was evicted", async () => {
    const { run } = freshRun();
    await run.register(REGISTRATION);
    await run.commit(commit(1, group(1), group(2), group(3), group(4)));
    const first = await takenPayloads(run);
    expect(first).toEqual({ id: 1, step: 1, payloads: [1, 2] });
    await expect.poll(() => takenPayloads(run)).toEqual(first);
    await evictDurableObject(run);
    expect(await takenPayloads(run)).toEqual(first);
    await run.delivered(1);
    await run.delivered(1);
    await expect.poll(() => takenPayloads(run)).toEqual({ id: 2, step: 2, payloads: [3, 4] });
  });

  test("is not given to a second trainer while the first one reads it", async () => {
    const { run } = freshRun();
    await run.register(REGISTRATION);
    await run.commit(commit(1, group(1), group(2), group(3), group(4)));
    using first = await run.takeBatch(0);
    expect(first.status).toBe("batch");
    expect(await takenPayloads(run)).toEqual({ id: 2, step: 2, payloads: [3, 4] });
  });
});

test("who waits for a batch gets it when its last group comes, and nothing when the time is up", async () => {
  const { run } = freshRun();
  await run.register(REGISTRATION);
  expect(await run.takeBatch(20)).toEqual({ status: "none" });
  const waiting = run.takeBatch(30_000);
  await run.commit(commit(1, group(1), group(2)));
  using taken = await waiting;
  expect(taken.status).toBe("batch");
});

describe("groups smaller than their environment's group size", () => {
  test.each([
    ["that add up exactly are queued together", [1, 3], [1, 0], 2],
    ["that can't add up exactly are queued as they are", [3, 3], [3, 0], 2],
    ["wait for more", [1, 2], [1, 3], 0],
  ])("%s", async (_what, sizes, buffered, queued) => {
    const { run } = freshRun();
    await run.register(REGISTRATION);
    await run.registerEnvironment(environment);
    const verdicts = await run.commit(commit(1, ...sizes.map((size, index) => group(index + 1, size, 0))));
    expect(verdicts.flat()).toEqual(buffered.map((bufferedSequences) => ({ status: "buffered", bufferedSequences })));
    expect((await run.status()).queueSize).toBe(queued);
  });

  test("are queued when their environment disconnects", async () => {
    const { run } = freshRun();
    await run.register(REGISTRATION);
    await run.registerEnvironment(environment);
    await run.commit(commit(1, group(1, 1, 0)));
    await run.disconnectEnvironment(0);
    expect((await run.status()).queueSize).toBe(1);
  });
});

test("a reset forgets all, and batch ids go on", async () => {
  const { run } = freshRun();
  await run.register(REGISTRATION);
  await run.commit(commit(1, group(1), group(2), group(3)));
  await takenPayloads(run);
  await run.reset();
  expect(await run.registration()).toBeNull();
  expect(await run.status()).toEqual({ step: 0, queueSize: 0 });
  await run.register(REGISTRATION);
  await run.commit(commit(2, group(4), group(5)));
  expect(await takenPayloads(run)).toMatchObject({ id: 2, step: 1 });
});

test.each([
  ["no_trainer", null, []],
  ["too_few_sequences", 4, [2]],
  ["sizes_do_not_add_up", 5, [2, 2, 2]],
  ["ready", 4, [2, 2]],
] as const)("explains %s", async (reason, batch_size, sizes) => {
  const { run } = freshRun();
  if (batch_size !== null) await run.register({ ...REGISTRATION, batch_size });
  if (sizes.length > 0) await run.commit(commit(1, ...sizes.map((size, index) => group(index + 1, size))));
  expect((await run.overview()).explain).toMatchObject({ reason, queued_groups: sizes.length });
});

test("explains a floor that isn't met, by the environment's name and when it was last heard", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run } = freshRun();
  await run.register(REGISTRATION);
  await run.registerEnvironment({ ...environment, groupSize: 2, floor: 0.5 });
  await run.commit(commit(1, group(1), group(2)));
  const { explain } = await run.overview();
  expect(explain).toMatchObject({
    reason: "floor_unmet",
    missing_sequences: 2,
    floors: [{ name: "math_0", last_heard_seconds: 0 }],
  });
});
