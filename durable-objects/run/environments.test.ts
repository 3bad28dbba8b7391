import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import { freshRun, REGISTRATION, type RunStub } from "../testing.ts";

async function shares(run: RunStub, environments: number): Promise<unknown[]> {
  const ids = Array.from({ length: environments }, (_, id) => id);
  return Promise.all(
    ids.map(async (id) => {
      const answer = await run.environmentStatus({ id, label: null });
      return answer.status === "found" ? answer.environment.env_weight : null;
    }),
  );
}

const MOST = Number.MAX_VALUE;

test.each([
  { weights: [3, 1], length: 64, expected: [0.75, 0.25] },
  { weights: [MOST, MOST], length: 32_768, expected: [0.5, 0.5] },
  { weights: [1e9, MOST, -MOST], length: Number.MAX_SAFE_INTEGER, expected: [0.5, 0.5, 0.01] },
  { weights: [1, -1], length: -64, expected: [0.01, 0.01] },
  { weights: [0, Number.MIN_VALUE], length: 1, expected: [0.01, 1] },
])(
  "weights $weights of environments of length $length give shares $expected",
  async ({ weights, length, expected }) => {
    const { run } = freshRun();
    await run.register({ ...REGISTRATION, mixing: "weighted" });
    for (const weight of weights)
      await run.registerEnvironment({
        name: "e",
        label: null,
        maxTokenLength: length,
        groupSize: 1,
        weight,
        floor: null,
      });
    expect(await shares(run, weights.length)).toEqual(expected);
  },
);

test("weights that an earlier release took as they were count as much as they may", async () => {
  const { run } = freshRun();
  await run.register(REGISTRATION);
  for (let id = 0; id < 2; id++)
    await run.registerEnvironment({
      name: "e",
      label: null,
      maxTokenLength: 64,
      groupSize: 1,
      weight: 1e9,
      floor: null,
    });
  await runInDurableObject(run, (_instance, { storage }) => {
    storage.sql.exec("UPDATE environment SET weight = 1e308 WHERE id = 0");
  });
  await evictDurableObject(run);
  expect(await shares(run, 2)).toEqual([0.5, 0.5]);
});
