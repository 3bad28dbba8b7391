import { evictDurableObject } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { REGISTRATION } from "../../testing.ts";
import { group, ready, take } from "./testing.ts";

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
    const { run, shard } = await ready({ save_checkpoint_interval: 2 });
    for (let step = 1; step <= 5; step++) {
      await run.saveEnvironmentState(0, step - 1, `{"at":${step}}`);
      await shard.submit([group(null), group(null)]);
      await run.delivered(Number(await take(run)));
    }
    await run.register(REGISTRATION, 3);
    expect(await run.environmentState(0)).toEqual({ status: "kept", version: 6, state: '{"at":2}' });
    expect(await run.saveEnvironmentState(0, 5, "late")).toMatchObject({ status: "conflict" });
  });
});
