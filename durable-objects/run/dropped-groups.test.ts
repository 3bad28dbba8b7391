import { expect, test } from "vitest";
import { ROW_BYTES } from "../payloads.ts";
import { payloadsOf, REGISTRATION, type RunStub, runAlarms } from "../testing.ts";
import { group, ready } from "./testing.ts";

const filters = { ...REGISTRATION.filters, equal_scores: true };
const equal = { scores: { min: 1, mean: 1, max: 1 } };
const ages = async (run: RunStub) => (await run.listDropped(10)).map(({ age }) => age);

test("groups that filters dropped never fill the disk: the oldest go, so that all have a hundredth of it at most", async () => {
  const { run, shard } = await ready({ filters });
  // A hundredth of 8 MiB are 83,886 bytes.
  for (const bytes of [50_000, 30_000, 40_000, 10_000]) await shard.submit([group("odd", { ...equal, bytes })]);
  await runAlarms(run);
  expect(await ages(run)).toEqual([4, 3, 2]);
  expect(await payloadsOf(shard)).toEqual([2, 3, 4]);
  await shard.submit([group("odd", { ...equal, row: new Uint8Array(ROW_BYTES), bytes: ROW_BYTES })]);
  await runAlarms(run);
  expect(await ages(run)).toEqual([]);
});

test("groups that filters dropped are the first to go when the disk is full", async () => {
  const { run, shard } = await ready({ filters });
  await shard.submit([group("odd", equal)]);
  await runAlarms(run);
  expect(await ages(run)).toEqual([1]);
  for (let mib = 0; mib < 8; mib++) await shard.submit([group("large", { row: new Uint8Array(ROW_BYTES) })]);
  expect(await shard.submit([group("c")])).toEqual([{ status: "disk_full" }]);
  await expect.poll(() => ages(run)).toEqual([]);
  await runAlarms(run);
  expect(await payloadsOf(shard)).not.toContain(1);
});
