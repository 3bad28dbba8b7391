import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { leased, only, ready } from "./testing.ts";

/** Cloudflare's limit of a row, in bytes. */
const ROW_LIMIT = 2_000_000;
const COUNT = 100;

test.each([
  ["three bytes a character", "語".repeat(16_382)],
  ["escapes of escapes", '"'.repeat(8_191)],
  ["a few characters", "x"],
])("as many follow-up items as there may be fit into rows: %s", async (_what, text) => {
  const { run } = await ready({}, { leaseSequences: 1 });
  const { lease_id } = await only(run);
  const items = Array.from({ length: COUNT }, (_, index) => JSON.stringify([index, text]));
  await run.followUpRollout(lease_id, ['"replaced"', ...items.slice(2)]);
  await run.followUpRollout(lease_id, items);
  const longest = await runInDurableObject(run, (_instance, { storage }) => {
    const query = "SELECT MAX(LENGTH(CAST(items AS BLOB))) AS bytes FROM follow_up";
    return Number(storage.sql.exec(query).one()["bytes"]);
  });
  expect(longest).toBeLessThan(ROW_LIMIT);
  await run.closeRollout(lease_id, { outcome: "skipped", reason: "easy", endpointFault: false });
  expect((await leased(run, 3)).map(({ backlog }) => backlog)).toEqual(items.slice(0, 3));
});

test("those of a lease that fails, and of a run that is reset, are forgotten", async () => {
  const { run } = await ready();
  const left = () =>
    runInDurableObject(run, (_instance, { storage }) => storage.sql.exec("SELECT * FROM follow_up").toArray());
  const { lease_id } = await only(run);
  await run.followUpRollout(lease_id, ['"lost"']);
  await run.closeRollout(lease_id, { outcome: "failed", reason: "broken", endpointFault: false });
  expect(await left()).toEqual([]);
  await run.followUpRollout((await only(run)).lease_id, ['"lost"']);
  expect(await left()).toHaveLength(1);
  await run.reset();
  expect(await left()).toEqual([]);
});
