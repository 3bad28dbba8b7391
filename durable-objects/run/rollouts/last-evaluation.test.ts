import { evictDurableObject } from "cloudflare:test";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { REGISTRATION } from "../../testing.ts";
import { ACK } from "../testing.ts";
import { ENDPOINT, environment, group, later, lease, leased, only, outcomes, pass, ready, take } from "./testing.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date"] });
});
afterEach(() => {
  vi.useRealTimers();
});

type Ready = Awaited<ReturnType<typeof ready>>;

const SETTINGS = { num_steps: 2, keep_steps: 9 };
const LEASE_MS = 60_000;
/** How long a trainer that holds no batch is waited for. */
const AWAITED_MS = 90_000;

/** A run that has handed out and delivered all its steps. */
async function over(stepsPerEval = 2, leasing = {}): Promise<Ready> {
  const made = await ready(SETTINGS, { stepsPerEval, ...leasing });
  await pass(made, 2);
  return made;
}

/** A run whose last batch is held by its trainer; the hold too. */
async function lastBatchHeld(): Promise<Ready & { hold: number }> {
  const made = await ready(SETTINGS, { stepsPerEval: 2 });
  await pass(made, 1);
  await made.shard.submit([group(null), group(null)]);
  return { ...made, hold: await takeHold(made) };
}

async function takeHold({ run }: Ready, leaseMs = LEASE_MS): Promise<number> {
  using taken = await run.takeBatch(0, { leaseMs });
  if (taken.status !== "batch") throw new Error(`no batch: ${taken.status}`);
  await run.delivered(taken.batch.id, taken.batch.epoch);
  return taken.batch.epoch;
}

const waits = (reason: string) => ({ status: "none", reason });
const FINISHED = { status: "finished", reason: "num_steps" };
const EVALUATED = { outcome: "evaluated", metrics: { accuracy: 1 } } as const;
const ENDPOINT_FAULT = { reason: "inference_refused", message: "", endpointFault: true };

describe("the evaluation that is due at the last step", () => {
  test.each([
    { stepsPerEval: 0, kinds: [] },
    { stepsPerEval: 3, kinds: [] },
    { stepsPerEval: 2, kinds: ["evaluate"] },
    { stepsPerEval: 1, kinds: ["evaluate"] },
  ])("is all that is given out then; steps_per_eval $stepsPerEval", async ({ stepsPerEval, kinds }) => {
    const { run } = await over(stepsPerEval, { evaluationHandling: "none" });
    expect((await leased(run, 100)).map(({ kind }) => kind)).toEqual(kinds);
    expect(await lease(run, 100)).toMatchObject(kinds.length === 0 ? FINISHED : waits("evaluating"));
  });

  test("may have been crossed before", async () => {
    const made = await ready({ num_steps: 3 }, { stepsPerEval: 2 });
    await pass(made, 3);
    expect(await only(made.run)).toMatchObject({ kind: "evaluate", step: 3 });
  });

  test("follows one of an earlier step that is under way", async () => {
    const made = await ready(SETTINGS, { stepsPerEval: 1 });
    const { run } = made;
    await pass(made, 1);
    const earlier = await only(run);
    await pass(made, 1);
    expect(await lease(run)).toMatchObject(waits("evaluating"));
    await run.closeRollout(earlier.lease_id, EVALUATED);
    expect(await only(run)).toMatchObject({ kind: "evaluate", step: 2 });
  });

  const endings: readonly (readonly [string, (run: Ready["run"], lease: number) => Promise<unknown>])[] = [
    ["evaluated", (run, id) => run.closeRollout(id, EVALUATED)],
    ["failed", (run, id) => run.closeRollout(id, { outcome: "failed", reason: "x", endpointFault: true })],
    [
      "expired",
      async (run) => {
        for (let attempt = 2; attempt <= 5; attempt++) {
          later(LEASE_MS);
          if (attempt === 3) await evictDurableObject(run);
          expect(await only(run)).toMatchObject({ kind: "evaluate", attempt });
        }
        later(LEASE_MS);
      },
    ],
  ];
  test.each(endings)("keeps the environment until it has %s", async (outcome, end) => {
    const { run } = await over();
    const evaluation = async () => (await run.listEnvironments(-1, 1)).map((listed) => listed.evaluation);
    expect(await evaluation()).toEqual(["due"]);
    const { lease_id } = await only(run);
    expect(await lease(run)).toMatchObject({
      ...waits("evaluating"),
      message: "environment math_0 evaluates after step 2, the last one",
    });
    expect(await evaluation()).toEqual(["under_way"]);
    await end(run, lease_id);
    expect(await lease(run)).toMatchObject({ ...FINISHED, message: expect.not.stringContaining("due") });
    expect(await evaluation()).toEqual([null]);
    expect(await outcomes(run)).toMatchObject({ [outcome]: expect.anything() });
  });

  test("is given to a request that waits, which then hears at once that the run has ended", async () => {
    const made = await ready(SETTINGS, { stepsPerEval: 2 });
    const { run } = made;
    await pass(made, 1);
    await leased(run, 100);
    const waiting = run.leaseRollouts(0, 1, 60_000);
    await pass(made, 1);
    const answer = await waiting;
    expect(answer).toMatchObject({ status: "leased", leases: [{ kind: "evaluate", step: 2 }] });
    const rest = run.leaseRollouts(0, 1, 60_000);
    await expect.poll(async () => (await run.overview()).admission.waiting_environments).toBe(1);
    expect((await run.overview()).admission.blocked?.reason).toBe("evaluating");
    await run.closeRollout(answer.status === "leased" ? (answer.leases[0]?.lease_id ?? 0) : 0, EVALUATED);
    expect(await rest).toMatchObject(FINISHED);
  });

  test("keeps nobody while no endpoint is known, and is given out once there is one", async () => {
    const { run } = await over();
    await run.registerEnvironment(environment("code", { stepsPerEval: 2 }));
    await run.publishPolicy(null, []);
    expect(await lease(run)).toMatchObject({ ...FINISHED, message: expect.stringMatching(/is due, but no inference/) });
    expect(await lease(run, 1, 1)).toMatchObject({ ...FINISHED, message: expect.not.stringContaining("due") });
    await run.publishPolicy(null, [ENDPOINT]);
    expect(await only(run)).toMatchObject({ kind: "evaluate" });
  });

  test.each([
    ["endpoints_busy", 0],
    ["endpoints_unhealthy", 3],
  ])("waits for room on an endpoint: %s", async (reason, failures) => {
    const made = await ready(SETTINGS, { stepsPerEval: 2 });
    const { run } = made;
    await run.registerEnvironment(environment("code", { stepsPerEval: 2 }));
    await run.publishPolicy(null, [{ ...ENDPOINT, max_evaluation_requests: 1 }]);
    await pass(made, 2);
    const other = await only(run, 1);
    for (let failure = 0; failure < failures; failure++) await run.renewRollout(other.lease_id, ENDPOINT_FAULT);
    expect(await lease(run)).toMatchObject(waits(reason));
    later(LEASE_MS);
    expect(await only(run)).toMatchObject({ kind: "evaluate" });
  });

  test("waits until the last batch is learned from, for it is the final policy's", async () => {
    const made = await lastBatchHeld();
    const { run, hold } = made;
    expect(await lease(run)).toMatchObject(waits("last_batch"));
    const waiting = run.leaseRollouts(0, 1, 60_000);
    await run.publishPolicy(2, null);
    await run.acknowledge(2, { ...ACK, hold });
    expect(await waiting).toMatchObject({ leases: [{ kind: "evaluate", policy_version: 2, step: 2 }] });
  });

  const leaving: readonly (readonly [string, (run: Ready["run"]) => unknown])[] = [
    ["is given back", (run) => run.release(2, { trainer: null, hold: null })],
    ["is held until its lease is over", () => later(LEASE_MS)],
    ["is rewound", (run) => run.register({ ...REGISTRATION, ...SETTINGS }, 1)],
    [
      "breaks off",
      async (run) => {
        await run.release(2, { trainer: null, hold: null });
        {
          using broken = await run.takeBatch(0, { leaseMs: LEASE_MS });
          expect(broken.status).toBe("batch");
        }
        await expect.poll(async () => (await run.overview()).leasedBatches).toBe(0);
      },
    ],
  ];
  describe.each(leaving)("when the last batch %s", (_, leave) => {
    test("waits for a trainer to take it again, and is given out once it has learned", async () => {
      const made = await lastBatchHeld();
      const { run } = made;
      const waiting = run.leaseRollouts(0, 1, 10 * AWAITED_MS);
      await expect.poll(async () => (await run.overview()).admission.waiting_environments).toBe(1);
      await leave(run);
      later(AWAITED_MS - 1);
      expect(await lease(run)).toMatchObject(waits("last_batch"));
      await run.acknowledge(2, { ...ACK, hold: await takeHold(made) });
      expect(await waiting).toMatchObject({ leases: [{ kind: "evaluate", step: 2 }] });
    });

    test("keeps nobody if no trainer takes it, and stays due", async () => {
      const made = await lastBatchHeld();
      const { run } = made;
      const waiting = run.leaseRollouts(0, 1, 10 * AWAITED_MS);
      await expect.poll(async () => (await run.overview()).admission.waiting_environments).toBe(1);
      await leave(run);
      later(AWAITED_MS);
      const finished = { ...FINISHED, message: expect.stringMatching(/is due, but batches/) };
      expect(await waiting).toMatchObject(finished);
      await evictDurableObject(run);
      expect(await lease(run)).toMatchObject(finished);
      await run.acknowledge(2, { ...ACK, hold: await takeHold(made) });
      expect(await only(run)).toMatchObject({ kind: "evaluate" });
    });
  });

  test("waits while a trainer that went back learns from one batch after the other, however long that takes", async () => {
    const settings = { num_steps: 4, keep_steps: 9 };
    const made = await ready(settings, { stepsPerEval: 2 });
    const { run } = made;
    await pass(made, 4);
    await run.register({ ...REGISTRATION, ...settings }, 1);
    for (const step of [2, 3, 4]) {
      const hold = await takeHold(made, 2 * AWAITED_MS);
      later(AWAITED_MS);
      expect(await lease(run)).toMatchObject(waits("last_batch"));
      await run.acknowledge(step, { ...ACK, hold });
      expect(await lease(run)).toMatchObject(step === 4 ? { status: "leased" } : waits("last_batch"));
    }
  });

  const beyond: readonly (readonly [string, (run: Ready["run"], hold: number) => unknown])[] = [
    ["held", () => undefined],
    ["given back", (run, hold) => run.release(3, { trainer: null, hold })],
    ["left", () => later(LEASE_MS + AWAITED_MS)],
  ];
  test.each(beyond)("waits for no batch beyond the last step that is %s", async (_, change) => {
    const made = await over();
    const { run, shard } = made;
    await shard.submit([group(null), group(null)]);
    await change(run, await takeHold(made));
    expect(await only(run)).toMatchObject({ kind: "evaluate" });
  });

  test("waits for no batch that is fetched without a lease, not even after a rewind", async () => {
    const { run } = await over();
    await run.register({ ...REGISTRATION, ...SETTINGS }, 1);
    expect(await lease(run)).toMatchObject(waits("last_batch"));
    {
      using plain = await run.takeBatch(0, {});
      expect(plain.status).toBe("batch");
      expect(await only(run)).toMatchObject({ kind: "evaluate" });
    }
  });

  test("is due again when the trainer goes back behind it, and has learned again", async () => {
    const made = await over();
    const { run } = made;
    await run.closeRollout((await only(run)).lease_id, EVALUATED);
    await run.register({ ...REGISTRATION, ...SETTINGS }, 1);
    const hold = await takeHold(made);
    expect(await lease(run)).toMatchObject(waits("last_batch"));
    await evictDurableObject(run);
    await run.acknowledge(2, { ...ACK, hold });
    expect(await only(run)).toMatchObject({ kind: "evaluate", step: 2 });
  });

  describe("is a new one when the trainer goes back, and loses nothing by what happened before", () => {
    async function learnAgain(made: Ready): Promise<void> {
      await made.run.acknowledge(2, { ...ACK, hold: await takeHold(made) });
    }

    test("by leases that were lost", async () => {
      const made = await over();
      const { run } = made;
      for (let attempt = 1; attempt <= 4; attempt++) {
        expect(await only(run)).toMatchObject({ attempt });
        later(LEASE_MS);
      }
      await run.register({ ...REGISTRATION, ...SETTINGS }, 1);
      await learnAgain(made);
      expect(await only(run)).toMatchObject({ kind: "evaluate", attempt: 1 });
    });

    test("by a lease that is lost later", async () => {
      const made = await over();
      const { run } = made;
      await only(run);
      await run.register({ ...REGISTRATION, ...SETTINGS }, 1);
      await learnAgain(made);
      expect(await lease(run)).toMatchObject(waits("evaluating"));
      later(LEASE_MS);
      expect(await only(run)).toMatchObject({ kind: "evaluate", attempt: 1 });
    });

    test("by having been crossed before the step it goes back to", async () => {
      const settings = { num_steps: 3, keep_steps: 9 };
      const made = await ready(settings, { stepsPerEval: 2 });
      const { run } = made;
      await pass(made, 3);
      await run.closeRollout((await only(run)).lease_id, EVALUATED);
      await run.register({ ...REGISTRATION, ...settings }, 2);
      await run.acknowledge(3, { ...ACK, hold: await takeHold(made) });
      expect(await only(run)).toMatchObject({ kind: "evaluate", step: 3 });
    });
  });

  test("isn't due when the trainer goes back and no multiple was crossed", async () => {
    const settings = { num_steps: 1, keep_steps: 9 };
    const made = await ready(settings);
    const { run } = made;
    await pass(made, 1);
    await run.registerEnvironment(environment("late", { stepsPerEval: 2 }));
    await run.register({ ...REGISTRATION, ...settings }, 0);
    expect(await lease(run, 1, 1)).toMatchObject({ ...FINISHED, message: expect.not.stringContaining("due") });
  });

  test("isn't due again when the trainer goes back to the last step alone", async () => {
    const made = await over(1);
    const { run } = made;
    await pass(made, 1);
    await run.closeRollout((await only(run)).lease_id, EVALUATED);
    await run.register({ ...REGISTRATION, ...SETTINGS }, 2);
    expect(await lease(run)).toMatchObject(FINISHED);
  });

  test("of an environment that is disconnected waits until it registers again", async () => {
    const { run } = await over();
    await run.disconnectEnvironment(0);
    expect(await lease(run)).toMatchObject(waits("disconnected"));
    await run.registerEnvironment(environment("math", { stepsPerEval: 2 }));
    expect(await only(run)).toMatchObject({ kind: "evaluate" });
    expect(await take(run)).toBe("none");
  });
});
