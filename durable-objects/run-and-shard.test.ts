import { evictDurableObject, runDurableObjectAlarm } from "cloudflare:test";
import { expect, test } from "vitest";
import type { SmallGroup } from "./payload-shard/durable-object.ts";
import { freshRun, openUpload, PLAIN, payloadsOf, REGISTRATION } from "./testing.ts";

/** What a Run and its shards have to get right together. */

const envelope = { environment: null, sequences: 2, tokens: 6, ...PLAIN };
const bytes = new Uint8Array([97]);
const small = (environment: number | null = null, sequences = 2): SmallGroup => ({
  ...envelope,
  environment,
  sequences,
  row: bytes,
  bytes: 1,
});

test("an upload begun before a reset and committed between it and its sweep keeps its rows", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  using upload = await openUpload(shard);
  await upload.append([{ kind: "row", row: bytes, textLength: 1 }]);
  await shard.submit([small()]);
  await run.reset();
  await upload.append([{ kind: "end", envelope }]);
  expect(await upload.commit()).toEqual([{ status: "received" }]);
  await runDurableObjectAlarm(run);
  expect((await run.status()).queueSize).toBe(1);
  expect(await payloadsOf(shard)).toEqual([1]);
});

test("a reset also lets go of the last commit of a shard that slept since", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await shard.submit([small()]);
  await evictDurableObject(shard);
  await run.reset();
  await runDurableObjectAlarm(run);
  expect(await payloadsOf(shard)).toEqual([]);
});

test("a small group that comes after its environment disconnected is queued: nobody will make it up", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  await run.registerEnvironment({
    name: "math",
    label: null,
    maxTokenLength: 64,
    groupSize: 4,
    weight: 1,
    floor: null,
  });
  await run.disconnectEnvironment(0);
  await shard.submit([small(0, 1)]);
  expect((await run.status()).queueSize).toBe(1);
});

test("a short wait that begins during a longer one ends in time", async () => {
  const { run, shard } = freshRun();
  await run.register(REGISTRATION);
  const long = run.takeBatch(30_000);
  await expect.poll(async () => (await run.overview()).waitingTrainers).toBe(1);
  const short = run.takeBatch(50);
  expect(await Promise.race([long.then(() => "long"), short.then(({ status }) => status)])).toBe("none");
  await shard.submit([small(), small()]);
  using served = await long;
  expect(served.status).toBe("batch");
});
