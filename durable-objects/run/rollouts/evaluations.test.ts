import { describe, expect, test } from "vitest";
import { group, lease, leased, only, ready, take } from "./testing.ts";

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
    expect(await run.listEvaluations()).toEqual([{ env_id: 0, name: "math_0", step: 2, metrics: { accuracy: 0.5 } }]);
    expect(await only(run)).toMatchObject({ kind: "train" });
  });

  test("with limit a share of the bound is left to training", async () => {
    const { run, shard } = await ready({}, { stepsPerEval: 1, evaluationHandling: "limit", evaluationLimit: 0.5 });
    await shard.submit([group(null), group(null)]);
    await run.delivered(Number(await take(run)));
    const kinds = (await leased(run, 100)).map(({ kind }) => kind);
    expect(kinds).toEqual(["evaluate", "train", "train", "train"]);
  });
});
