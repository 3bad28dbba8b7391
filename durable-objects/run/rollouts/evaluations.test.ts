import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { afterEach, describe, expect, test, vi } from "vitest";
import { evaluationsInSteps } from "../schema.ts";
import { Evaluations } from "./evaluations.ts";
import { ENDPOINT, environment, group, later, lease, leased, only, outcomes, pass, ready, take } from "./testing.ts";

afterEach(() => {
  vi.useRealTimers();
});

/** Hands out batches up to a step, and evaluates as often as it is due. Returns at which step it was first. */
async function evaluateUpTo(made: Awaited<ReturnType<typeof ready>>, last: number): Promise<number | null> {
  const { run } = made;
  let first: number | null = null;
  for (let { step } = await run.status(); ; step++) {
    const { lease_id, kind } = await only(run);
    if (kind === "evaluate") {
      first ??= step;
      await run.closeRollout(lease_id, { outcome: "evaluated", metrics: {} });
    } else await run.closeRollout(lease_id, { outcome: "skipped", reason: "for_now", endpointFault: false });
    if (step >= last) return first;
    await pass(made, 1);
  }
}

describe("evaluation", () => {
  test.each([
    ["stop", "evaluating"],
    ["none", null],
  ] as const)("is leased once when a multiple of steps_per_eval is crossed; handling %s", async (handling, reason) => {
    const { run, shard } = await ready({}, { stepsPerEval: 2, evaluationHandling: handling });
    for (let step = 1; step <= 2; step++) {
      expect(await only(run)).toMatchObject({ kind: "train" });
      await shard.submit([group(null), group(null)]);
      await run.delivered(Number(await take(run)));
    }
    const evaluation = await only(run);
    expect(evaluation).toMatchObject({ kind: "evaluate", item: null, step: 2 });
    expect(await lease(run)).toMatchObject({ reason });
    const { lease_id } = evaluation;
    await run.closeRollout(lease_id, { outcome: "evaluated", metrics: { accuracy: 0.5 } });
    expect(await run.listEvaluations(null, 100)).toEqual([
      { evaluation_id: 1, env_id: 0, name: "math_0", step: 2, metrics: { accuracy: 0.5 } },
    ]);
    expect(await only(run)).toMatchObject({ kind: "train" });
  });

  test("with limit a share of the bound is left to training", async () => {
    const { run, shard } = await ready({}, { stepsPerEval: 1, evaluationHandling: "limit", evaluationLimit: 0.5 });
    await shard.submit([group(null), group(null)]);
    await run.delivered(Number(await take(run)));
    const kinds = (await leased(run, 100)).map(({ kind }) => kind);
    expect(kinds).toEqual(["evaluate", "train", "train", "train"]);
  });

  test("finds room on an endpoint however much training is in flight, and takes none of training's", async () => {
    const made = await ready({ max_batches_offpolicy: 100 }, { stepsPerEval: 1, evaluationHandling: "none" });
    const { run } = made;
    await run.publishPolicy(null, [{ ...ENDPOINT, max_training_requests: 8, max_evaluation_requests: 1 }]);
    await run.registerEnvironment(environment("code", { stepsPerEval: 1, evaluationHandling: "none" }));
    expect(await leased(run, 100)).toHaveLength(4);
    expect(await lease(run)).toMatchObject({ status: "none", reason: "endpoints_busy" });
    await pass(made, 1);
    expect((await leased(run, 100)).map(({ kind }) => kind)).toEqual(["evaluate"]);
    expect((await run.policyStatus()).endpoints).toMatchObject([{ in_flight: 9 }]);
    expect(await lease(run, 1, 1)).toMatchObject({ status: "none", reason: "endpoints_busy" });
  });

  test.each([
    { from: 1, to: 4, at: 6, next: 8 },
    { from: 4, to: 1, at: 6, next: 6 },
    { from: 4, to: 3, at: 4, next: 6 },
    { from: 0, to: 4, at: 6, next: 8 },
    { from: 2, to: 0, at: 4, next: null },
  ])("every $from steps, and from step $at on every $to: the next is at $next", async ({ from, to, at, next }) => {
    const made = await ready({}, { stepsPerEval: from });
    await evaluateUpTo(made, at);
    await made.run.registerEnvironment(environment("math", { stepsPerEval: to }));
    expect(await evaluateUpTo(made, 10)).toBe(next);
  });

  test("steps counted in multiples of steps_per_eval by an earlier release go on where they were", async () => {
    const made = await ready({}, { stepsPerEval: 3 });
    await evaluateUpTo(made, 7);
    await runInDurableObject(made.run, (_instance, { storage: { sql } }) => {
      sql.exec("UPDATE environment SET last_evaluation = 2");
      evaluationsInSteps(sql);
    });
    await evictDurableObject(made.run);
    expect(await evaluateUpTo(made, 10)).toBe(9);
  });

  test("whose lease expires is leased again, five times at most; then training goes on", async () => {
    vi.useFakeTimers({ toFake: ["Date"] });
    const made = await ready({}, { stepsPerEval: 2 });
    const { run } = made;
    await pass(made, 2);
    for (let attempt = 1; attempt <= 5; attempt++) {
      expect(await only(run)).toMatchObject({ kind: "evaluate", attempt });
      if (attempt === 2) await evictDurableObject(run);
      later(60_000);
    }
    expect(await only(run)).toMatchObject({ kind: "train", item: 0 });
    expect(await outcomes(run)).toEqual({ expired: { expired: 5 }, failed: { lost_too_often: 1 } });
    await pass(made, 2);
    const next = await only(run);
    expect(next).toMatchObject({ kind: "evaluate", attempt: 1 });
    await run.closeRollout(next.lease_id, { outcome: "evaluated", metrics: {} });
    expect(await only(run)).toMatchObject({ kind: "train" });
  });

  test("is no way to end a lease for a group", async () => {
    const { run } = await ready();
    const { lease_id } = await only(run);
    const ending = { outcome: "evaluated", metrics: { accuracy: 1 } } as const;
    expect(await run.closeRollout(lease_id, ending)).toEqual({ status: "no_evaluation" });
    expect(await run.listEvaluations(null, 100)).toEqual([]);
    expect(await run.listRollouts(0, 0, 10)).toMatchObject([{ outcome: "open" }]);
  });
});

test("evaluations are listed newest first, in pages that hold no more text than one message can", async () => {
  const { run } = await ready();
  const metrics = { ["x".repeat(60_000)]: 1 };
  await runInDurableObject(run, (_instance, { storage }) => {
    const evaluations = new Evaluations(storage.sql);
    for (let step = 1; step <= 1_003; step++) evaluations.add({ env_id: 0, step, metrics });
  });
  const steps: number[] = [];
  let page = await run.listEvaluations(null, 1_000);
  expect(page.length).toBeLessThan(100);
  while (page.length > 0) {
    steps.push(...page.map(({ step }) => step));
    page = await run.listEvaluations(page.at(-1)?.evaluation_id ?? null, 1_000);
  }
  expect(steps).toEqual(Array.from({ length: 1_000 }, (_, index) => 1_003 - index));
  expect(await run.listEvaluations(null, 2)).toHaveLength(2);
});
