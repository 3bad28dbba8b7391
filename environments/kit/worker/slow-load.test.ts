import { expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { remember } from "../remember.ts";
import { environmentWorker } from "./index.ts";
import { messageOfLease } from "./testing.ts";
import { setUp } from "./testing-consumer.ts";

test("a data set that took too long for one invocation is loaded anew by the next, and then kept", async () => {
  const signals: AbortSignal[] = [];
  const rows = remember<number[]>();
  const load = (signal: AbortSignal) => {
    signals.push(signal);
    // As workerd leaves it when the invocation that began it is over: it never settles.
    return signals.length === 1 ? new Promise<never>(() => {}) : Promise.resolve([1, 2, 3]);
  };
  const slow = defineEnvironment({
    name: "slow",
    config: z.object({ group_size: z.int().default(2) }),
    items: async (index, { invocation }) => (await rows("rows", load, invocation))[index],
    prompt: (number) => [{ role: "user", content: `${number}` }],
    score: ({ rollouts }) => rollouts.map((_, index) => index),
  });
  const hasty = setUp({}, { rollout_timeout_seconds: 0.05 }, (platform) => environmentWorker(slow, platform));
  await hasty.deliver(messageOfLease(hasty.run.open()), messageOfLease(hasty.run.open()));
  for (const { failures } of hasty.run.leases.values()) expect(failures).toMatchObject([{ reason: "timeout" }]);
  expect(signals.map(({ aborted }) => aborted)).toEqual([true]);

  const patient = setUp({}, {}, (platform) => environmentWorker(slow, platform));
  for (let lease = 0; lease < 2; lease++) await patient.deliver(messageOfLease(patient.run.open()));
  expect([...patient.run.leases.values()].map(({ outcome }) => outcome)).toEqual(["submitted", "submitted"]);
  expect(signals).toHaveLength(2);
});
