import { afterEach, expect, test, vi } from "vitest";
import type { RunStub } from "../../testing.ts";
import { LOST_TOO_OFTEN, MAX_REASONS, OTHER } from "./outcomes.ts";
import { later, only, outcomes, ready } from "./testing.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Fails the same lease for each of the reasons. */
async function fail(run: RunStub, reasons: readonly string[]): Promise<void> {
  const { lease_id } = await only(run);
  for (const reason of reasons) await run.renewRollout(lease_id, { reason, message: "", endpointFault: false });
}

const words = (count: number) => Array.from({ length: count }, (_, index) => `reason_${index}`);

test("an environment has a bounded number of reasons; what it names beyond them is counted together", async () => {
  const { run } = await ready();
  await fail(run, words(MAX_REASONS + 5));
  await fail(run, ["reason_0", "yet_another"]);
  const { retried } = (await outcomes(run)) ?? {};
  expect(Object.keys(retried ?? {})).toHaveLength(MAX_REASONS + 1);
  expect(retried).toMatchObject({ reason_0: 2, [`reason_${MAX_REASONS - 1}`]: 1, [OTHER]: 6 });
});

test("why the run itself ends leases is always told by its name", async () => {
  vi.useFakeTimers({ toFake: ["Date"] });
  const { run } = await ready();
  await fail(run, words(MAX_REASONS));
  for (let attempt = 2; attempt <= 6; attempt++) {
    later(60_000);
    await only(run);
  }
  expect(await outcomes(run)).toMatchObject({ expired: { expired: 5 }, failed: { [LOST_TOO_OFTEN]: 1 } });
});
