import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { ROW_BYTES, rowId } from "../payloads.ts";
import { freshRun, openUpload, PLAIN, rowsOf } from "../testing.ts";
import type { SmallGroup } from "./durable-object.ts";

const envelope = { environment: null, sequences: 2, tokens: 6, ...PLAIN };
const small = (text: string): SmallGroup => ({ ...envelope, row: new TextEncoder().encode(text), bytes: text.length });
const row = (text: string) => ({ kind: "row" as const, row: new TextEncoder().encode(text), textLength: text.length });
const end = { kind: "end" as const, envelope };

test("a request that can't be stored takes none of its neighbours along", async () => {
  const { run, shard } = freshRun();
  const results = await Promise.allSettled([
    shard.submit([small("a")]),
    shard.submit([{ ...envelope, row: new Uint8Array(ROW_BYTES + 1), bytes: 1 }]),
    shard.submit([small("b")]),
  ]);
  expect(results.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  expect((await run.status()).queueSize).toBe(2);
  expect(await rowsOf(shard)).toHaveLength(2);
});

test("a commit that the Run may not have got is sent again after the object was evicted, and counts once", async () => {
  const { run, shard } = freshRun();
  await shard.submit([small("a")]);
  // As if the object had died between its own commit and the Run's: stored, never confirmed, never sent.
  await runInDurableObject(shard, (_instance, { storage }) => {
    const groups = [[{ ...envelope, payload: 2, rows: 1, bytes: 1 }]];
    storage.sql.exec("INSERT INTO payload_row (id, bytes) VALUES (?, ?)", rowId(2, 0), new Uint8Array([98]));
    const bytes = new TextEncoder().encode(JSON.stringify(groups));
    storage.sql.exec("INSERT INTO commit_part (sequence, part, bytes) VALUES (2, 0, ?)", bytes);
    storage.sql.exec("UPDATE shard SET next_payload = 3, next_commit = 3");
  });
  await evictDurableObject(shard);
  await shard.submit([small("c")]);
  expect((await run.status()).queueSize).toBe(3);
  await evictDurableObject(shard);
  await shard.submit([small("d")]);
  expect((await run.status()).queueSize).toBe(4);
});

test("an upload that nobody commits leaves nothing, one that is committed all", async () => {
  const { run, shard } = freshRun();
  {
    using upload = await openUpload(shard);
    await upload.append([row("half of "), row("a group")]);
    expect(await rowsOf(shard)).toHaveLength(2);
  }
  await expect.poll(() => rowsOf(shard)).toEqual([]);
  using upload = await openUpload(shard);
  await upload.append([row("one"), row(" group"), end, row("another"), end]);
  expect((await run.status()).queueSize).toBe(0);
  expect(await upload.commit()).toEqual([{ status: "received" }, { status: "received" }]);
  expect((await run.status()).queueSize).toBe(2);
});

test("letting go of all payloads through one spares the next, and uploads under way", async () => {
  const { shard } = freshRun();
  using first = await openUpload(shard);
  await first.append([row("long"), row("group"), row("of three rows"), end]);
  await first.commit();
  using underway = await openUpload(shard);
  await underway.append([row("not done yet")]);
  using later = await openUpload(shard);
  await later.append([row("the"), row("next"), end]);
  await later.commit();
  await shard.discardThrough(1, 1);
  expect(await rowsOf(shard)).toEqual([rowId(2, 0), rowId(3, 0), rowId(3, 1)]);
  await shard.discard([{ payload: 3 }]);
  expect(await rowsOf(shard)).toEqual([rowId(2, 0)]);
  const read = await shard.read([rowId(3, 0)]).then(() => "stored", String);
  expect(read).toContain("payload 3 is no longer stored");
});
