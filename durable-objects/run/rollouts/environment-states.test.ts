import { evictDurableObject, runInDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { REGISTRATION } from "../../testing.ts";
import { EnvironmentStates } from "./environment-states.ts";
import { environment, pass, ready } from "./testing.ts";

/** Saves a state at each step, and hands out the step's batch. */
async function saveAtEachStep(made: Awaited<ReturnType<typeof ready>>, steps: number): Promise<void> {
  for (let step = 1; step <= steps; step++) {
    await made.run.saveEnvironmentState(0, step - 1, `{"at":${step}}`);
    await pass(made, 1);
  }
}

describe("an environment's state", () => {
  test("is replaced only by who has seen the last version", async () => {
    const { run } = await ready();
    expect(await run.environmentState(0)).toEqual({ status: "kept", version: 0, state: null });
    expect(await run.saveEnvironmentState(0, 0, '{"level":1}')).toMatchObject({ status: "kept", version: 1 });
    expect(await run.saveEnvironmentState(0, 0, '{"level":9}')).toMatchObject({ status: "conflict", version: 1 });
    await evictDurableObject(run);
    expect(await run.environmentState(0)).toEqual({ status: "kept", version: 1, state: '{"level":1}' });
    expect(await run.saveEnvironmentState(7, 0, "1")).toEqual({ status: "unknown_environment" });
  });

  test("is copied at the trainer's checkpoints, and goes back with a trainer that resumes from one", async () => {
    const made = await ready({ save_checkpoint_interval: 2, keep_steps: 100 });
    const { run } = made;
    await saveAtEachStep(made, 5);
    await run.register(REGISTRATION, 3);
    expect(await run.environmentState(0)).toEqual({ status: "kept", version: 6, state: '{"at":2}' });
    expect(await run.saveEnvironmentState(0, 5, "late")).toMatchObject({ status: "conflict" });
  });

  const rewinds: readonly (readonly [string, { interval: number; steps: number; to: number; kept: string }])[] = [
    ["to before the first copy there is none", { interval: 2, steps: 5, to: 1, kept: "null" }],
    ["before any copy was made there is none", { interval: 10, steps: 5, to: 4, kept: "null" }],
    ["to before the last 20 copies it is the oldest of them", { interval: 1, steps: 25, to: 3, kept: '{"at":6}' }],
    ["without checkpoints it stays as it is", { interval: 0, steps: 5, to: 2, kept: '{"at":5}' }],
  ];
  test.each(rewinds)("after a rewind %s, however often", async (_what, { interval, steps, to, kept }) => {
    const made = await ready({ save_checkpoint_interval: interval, keep_steps: 100 });
    await saveAtEachStep(made, steps);
    for (let life = 0; life < 2; life++) {
      await made.run.register(REGISTRATION, to);
      expect(await made.run.environmentState(0)).toMatchObject({ state: kept });
    }
  });

  test("of an environment that had none at the checkpoint is none again", async () => {
    const made = await ready({ save_checkpoint_interval: 2, keep_steps: 100 });
    const { run } = made;
    await run.registerEnvironment(environment("code"));
    await saveAtEachStep(made, 3);
    await run.saveEnvironmentState(1, 0, '{"late":true}');
    await pass(made, 2);
    await run.register(REGISTRATION, 2);
    expect(await run.environmentState(0)).toMatchObject({ state: '{"at":2}' });
    expect(await run.environmentState(1)).toEqual({ status: "kept", version: 2, state: "null" });
    expect(await run.saveEnvironmentState(1, 2, '{"late":true}')).toMatchObject({ status: "kept", version: 3 });
  });

  test("copied again at the same step, it is the later one that counts", async () => {
    const { run } = await ready();
    await run.saveEnvironmentState(0, 0, '"first"');
    await runInDurableObject(run, (_instance, { storage }) => {
      const states = new EnvironmentStates(storage.sql);
      states.checkpoint(4);
      states.replace(0, 1, '"second"');
      states.checkpoint(4);
      states.replace(0, 2, '"third"');
      states.restore(4, 4);
      expect(states.get(0)).toEqual({ version: 4, state: '"second"' });
    });
  });
});
