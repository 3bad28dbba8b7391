import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Client } from "../../src/client/client.ts";
import { CheckpointError, checkpointPath, loadCheckpoint } from "./checkpoint.ts";
import type { LoopEvent } from "./events.ts";
import { PATIENCE } from "./last-evaluations.ts";
import { type LoopOptions, train } from "./loop.ts";
import { FakeLearner, FakeRun, fakeBatches, recorder } from "./testing.ts";

const STEPS = 6;
const endpoint = { url: "http://127.0.0.1:9", model: "tiny" };
let run: FakeRun;
let folder: string;

beforeEach(async () => {
  run = new FakeRun(fakeBatches(STEPS));
  await run.start();
  folder = mkdtempSync(join(tmpdir(), "lachesis-loop-"));
});
afterEach(async () => {
  await run.stop();
  rmSync(folder, { recursive: true });
});

function options(changes: Partial<LoopOptions> = {}): LoopOptions {
  return {
    client: new Client({ url: run.url, attempts: 1 }),
    run: "default",
    learner: new FakeLearner(),
    batchSize: 2,
    maxTokenLength: 64,
    steps: STEPS,
    checkpointInterval: 1,
    maxBatchesOffpolicy: 3,
    maxStaleness: null,
    endpoints: [endpoint],
    checkpoints: folder,
    resume: true,
    onEvent: () => undefined,
    backoff: { first: 5, longest: 20 },
    ...changes,
  };
}

/** The weight after all steps without any trouble. */
async function undisturbed(steps = STEPS): Promise<number> {
  const other = new FakeRun(fakeBatches(steps));
  await other.start();
  const learner = new FakeLearner();
  await train(options({ client: new Client({ url: other.url }), learner, steps, checkpoints: null }));
  await other.stop();
  return learner.weight;
}

/** A run that is as the first one was. */
async function replaced(former: FakeRun): Promise<FakeRun> {
  await former.stop();
  const other = new FakeRun(fakeBatches(STEPS));
  await other.start();
  return other;
}

function has<K extends LoopEvent["event"]>(events: readonly LoopEvent[], name: K): boolean {
  return events.some(({ event }) => event === name);
}

test("a batch is learned from, its step published as policy version, then it is acknowledged with step and metrics", async () => {
  const { events, onEvent } = recorder();
  await train(options({ steps: 2, onEvent }));
  expect(run.calls).toEqual(["register", "policy 0", "take 1", "policy 1", "ack 1", "take 2", "policy 2", "ack 2"]);
  expect(run.registrations[0]).toMatchObject({
    batch_size: 2,
    max_token_len: 64,
    num_steps: 2,
    save_checkpoint_interval: 1,
    max_batches_offpolicy: 3,
    max_staleness: null,
  });
  expect(run.acks.map(({ step }) => step)).toEqual([1, 2]);
  expect(run.acks[1]?.metrics).toMatchObject({
    reward_mean: (1 / 7 - 1 / 3) / 2,
    loss: expect.any(Number),
    staleness: 1,
  });
  // Not a number can't be told in JSON.
  expect(run.acks[1]?.metrics).not.toHaveProperty("odd");
  expect(events.at(-2)).toMatchObject({ event: "step", step: 2, batch: 2, staleness: 1, seconds: expect.any(Number) });
  expect(events.at(-1)).toMatchObject({ event: "finished", steps: 2 });
});

test.each([
  { evaluations: [null], looks: 1 },
  { evaluations: ["due and gone"], looks: 1 },
  { evaluations: ["due and just gone", "due", "under_way", null], looks: 4 },
  { evaluations: ["due", "under_way", "under_way", null], looks: 4 },
] as const)(
  "after the last step it serves the policy until the environments have evaluated it: $evaluations",
  async ({ evaluations, looks }) => {
    run.evaluations = evaluations;
    const { events, onEvent } = recorder();
    await train(options({ onEvent, patience: { ...PATIENCE, every: 1 } }));
    expect(run.looks).toBe(looks);
    expect(run.calls.at(-1)).toBe(`ack ${STEPS}`);
    const told = events.filter(({ event }) => event === "evaluating");
    expect(told).toEqual(looks > 1 ? [{ event: "evaluating", environments: ["math_0"] }] : []);
    expect(events.at(-1)).toMatchObject({ event: "finished" });
  },
);

test("an evaluation that doesn't end keeps it for a while, or until it is told to stop", async () => {
  run.evaluations = ["under_way"];
  await train(options({ patience: { ...PATIENCE, every: 1, longest: 20 } }));
  expect(run.looks).toBeGreaterThan(1);
  const controller = new AbortController();
  const { events, onEvent } = recorder();
  const stop = (event: LoopEvent) => {
    onEvent(event);
    if (event.event === "evaluating") controller.abort();
  };
  run = await replaced(run);
  run.evaluations = ["under_way"];
  await train(options({ onEvent: stop, signal: controller.signal, checkpoints: null }));
  expect(events.map(({ event }) => event).slice(-2)).toEqual(["evaluating", "finished"]);
});

test("a server that goes away after the last step is waited for a while, and that is told", async () => {
  const { events, onEvent } = recorder();
  const stop = (event: LoopEvent) => {
    onEvent(event);
    if (event.event === "evaluating") void run.stop();
  };
  run.evaluations = ["under_way"];
  await train(options({ onEvent: stop, patience: { ...PATIENCE, every: 1, away: 20 } }));
  const names = events.map(({ event }) => event);
  expect(new Set(names.slice(names.indexOf("evaluating")))).toEqual(new Set(["evaluating", "away", "finished"]));
});

test("a batch that can't be learned from, and isn't this trainer's any more, is let go", async () => {
  const learner = new FakeLearner();
  learner.failures = 1;
  run.interfere = (call) => (call === "release 1" ? 409 : undefined);
  const { events, onEvent } = recorder();
  await train(options({ learner, onEvent }));
  expect(events.slice(1, 3)).toMatchObject([{ event: "notice" }, { event: "failed", batch: 1 }]);
  expect(learner.weight).toBe(await undisturbed());
});

test("a batch that can't be learned from is given back, and taken again", async () => {
  const learner = new FakeLearner();
  learner.failures = 2;
  const { events, onEvent } = recorder();
  await train(options({ learner, onEvent }));
  expect(run.calls.slice(2, 9)).toEqual(["take 1", "release 1", "take 1", "release 1", "take 1", "policy 1", "ack 1"]);
  expect(events[1]).toMatchObject({ event: "failed", batch: 1, message: "can't learn this" });
  expect(learner.weight).toBe(await undisturbed());
});

test("a batch that never can be learned from ends the trainer, given back", async () => {
  const learner = new FakeLearner();
  learner.failures = 100;
  await expect(train(options({ learner }))).rejects.toThrow("can't learn this");
  expect(run.calls.at(-1)).toBe("release 1");
  expect(run.calls.filter((call) => call === "release 1")).toHaveLength(3);
});

test.each(["register", "policy 0", "take 3", "policy 3", "ack 3"])(
  "a server that goes away at %s is waited for",
  async (at) => {
    const { events, onEvent } = recorder();
    let times = 3;
    run.interfere = (call) => (call === at && times-- > 0 ? 503 : undefined);
    const learner = new FakeLearner();
    await train(options({ learner, onEvent }));
    expect(learner.weight).toBe(await undisturbed());
    expect(events.filter(({ event }) => event === "away")).toMatchObject([
      { retry_in_seconds: 0.005 },
      { retry_in_seconds: 0.01 },
      { retry_in_seconds: 0.02 },
    ]);
    expect(has(events, "back")).toBe(true);
  },
);

test("a server that is stopped and started again is found again", async () => {
  const learner = new FakeLearner();
  const onEvent = (event: LoopEvent) => {
    if (event.event === "step" && event.step === 2) void run.stop();
    if (event.event === "away") void run.start().catch(() => undefined);
  };
  await train(options({ learner, onEvent }));
  expect(learner.weight).toBe(await undisturbed());
});

test("what isn't passing is thrown: a wrong token isn't waited for", async () => {
  run.interfere = (call) => (call === "register" ? 401 : undefined);
  await expect(train(options())).rejects.toThrow("401");
});

test("a run that was reset gets the trainer registered again, at its step", async () => {
  let reset = true;
  run.interfere = (call) => {
    if (call !== "take 3" || !reset) return;
    reset = false;
    return 409;
  };
  await train(options());
  expect(run.registrations).toMatchObject([{ starting_step: 0 }, { starting_step: 2 }]);
  expect(run.acks).toHaveLength(STEPS);
});

test.each([1, 2, 3, 5])("stopped after %i steps and resumed it ends with the same bits", async (steps) => {
  const controller = new AbortController();
  const { events, onEvent } = recorder();
  const stopAt = (event: LoopEvent) => {
    if (event.event === "step" && event.step === steps) controller.abort();
  };
  // An interval that the stop doesn't fall on: a trainer that is told to stop saves what it learned.
  const first = train(options({ onEvent: stopAt, signal: controller.signal, checkpointInterval: 4 }));
  await expect(first).rejects.toThrow(/abort/i);
  const learner = new FakeLearner();
  await train(options({ learner, onEvent, checkpointInterval: 4 }));
  expect(learner.weight).toBe(await undisturbed());
  expect(events[0]).toMatchObject({ event: "resumed", step: steps, steps, reward_last: expect.any(Number) });
  expect(events.at(-1)).toMatchObject({ event: "finished", steps: STEPS });
});

test("a batch whose acknowledgement was lost isn't learned from twice", async () => {
  run.interfere = (call) => (call === "ack 3" ? 400 : undefined);
  await expect(train(options())).rejects.toThrow("400");
  run.interfere = () => undefined;
  run.calls.length = 0;
  const learner = new FakeLearner();
  await train(options({ learner }));
  expect(run.calls.slice(0, 5)).toEqual(["register", "policy 3", "take 3", "ack 3", "take 4"]);
  expect(learner.weight).toBe(await undisturbed());
});

test("a checkpoint of other settings is refused, saying what differs and what to do", async () => {
  await train(options());
  const other = train(options({ learner: new FakeLearner(2), batchSize: 4 }));
  await expect(other).rejects.toThrow(CheckpointError);
  await expect(other).rejects.toThrow(/seed was 1, now 2; batch_size was 2, now 4[\s\S]*--fresh/);
});

test("a damaged checkpoint is refused, naming it", async () => {
  await train(options());
  const path = checkpointPath(folder, "default");
  writeFileSync(path, "half a head");
  await expect(train(options())).rejects.toThrow(path);
});

test.each([
  ["asks for the batches since its checkpoint again", false, [{ resume_from_step: 2 }]],
  ["goes on without those that are gone, and says so", true, [{ starting_step: 2 }]],
])("resumed, it %s", async (_what, areGone, registrations) => {
  const controller = new AbortController();
  const stopAt = (event: LoopEvent) => {
    if (event.event === "step" && event.step === 2) controller.abort();
  };
  await train(options({ signal: controller.signal, onEvent: stopAt })).catch(() => undefined);
  run.registrations = [];
  let refuse = areGone;
  run.interfere = (call) => {
    if (call !== "register" || !refuse) return undefined;
    refuse = false;
    return 409;
  };
  const { events, onEvent } = recorder();
  await train(options({ onEvent }));
  expect(run.registrations).toMatchObject(registrations);
  expect(has(events, "notice")).toBe(areGone);
});

/** A signal that is aborted when so many batches are acknowledged. */
function stopAfter(batches: number): AbortSignal {
  const controller = new AbortController();
  run.interfere = () => {
    if (run.acks.length === batches) controller.abort();
    return undefined;
  };
  return controller.signal;
}

/** Runs until the trainer is gone after some steps, without a word and without a checkpoint. */
async function crashAfter(steps: number): Promise<void> {
  const onEvent = (event: LoopEvent) => {
    if (event.event === "step" && event.step === steps) throw new Error("crash");
  };
  await expect(train(options({ checkpoints: null, onEvent }))).rejects.toThrow("crash");
  run.registrations = [];
  run.calls.length = 0;
}

test("a new run is joined without going back", async () => {
  await train(options({ steps: 1 }));
  expect(run.registrations).toMatchObject([{ starting_step: 0 }]);
  expect(run.registrations[0]).not.toHaveProperty("resume_from_step");
});

test("without a checkpoint it asks for a run's batches again from the first, and says so", async () => {
  await crashAfter(3);
  const { events, onEvent } = recorder();
  await train(options({ onEvent }));
  expect(run.registrations).toMatchObject([{ starting_step: 0, resume_from_step: 0 }]);
  expect(events[0]).toEqual({ event: "rewound", step: 0, run_step: 3 });
});

test("where they are gone it goes on from the run's step, and says which it missed", async () => {
  await crashAfter(3);
  let isGone = true;
  run.interfere = (call) => {
    if (call !== "register" || !isGone) return undefined;
    isGone = false;
    return 409;
  };
  const { events, onEvent } = recorder();
  await train(options({ onEvent }));
  expect(events.slice(0, 3)).toMatchObject([
    { event: "notice", message: expect.stringContaining("409") },
    { event: "missed", step: 0, run_step: 3 },
    { event: "registered", step: 3 },
  ]);
  expect(run.calls.slice(0, 4)).toEqual(["register", "register", "policy 3", "take 4"]);
  expect(events.at(-1)).toMatchObject({ event: "finished", steps: STEPS - 3 });
});

test("a batch of a step that is past is learned from, and the step doesn't fall", async () => {
  run.stepOf = (batch) => (batch === 3 ? 1 : batch);
  const { events, onEvent } = recorder();
  const learner = new FakeLearner();
  await train(options({ learner, onEvent }));
  expect(events).toContainEqual({ event: "late", batch: 3, batch_step: 1, step: 2 });
  expect(run.acks.map(({ step }) => step)).toEqual([1, 2, 2, 4, 5, 6]);
  expect(run.calls.filter((call) => call.startsWith("policy"))).toEqual(
    [0, 1, 2, 2, 4, 5, 6].map((step) => `policy ${step}`),
  );
  expect(learner.weight).toBe(await undisturbed());
});

test("a run that was begun anew behind the checkpoint is not joined: the server's refusal stands", async () => {
  await train(options({ signal: stopAfter(3) })).catch(() => undefined);
  run.step = 1;
  run.calls.length = 0;
  run.interfere = (call) => (call === "register" ? 409 : undefined);
  await expect(train(options())).rejects.toThrow("409");
  expect(run.calls).toEqual(["register"]);
});

test.each<[string, (batch: number) => number, number, number[]]>([
  ["of steps in order", (batch) => batch, 2, [2, 4, 6]],
  ["of a step that stands still where one was saved", () => 2, 2, [2, 4, 6]],
  ["of a step that stands still where none was saved", () => 3, 2, [2, 4, 6]],
  ["of which the last are not enough for another", (batch) => batch, 4, [4, 6]],
])("a checkpoint is saved after so many batches %s", async (_what, stepOf, checkpointInterval, expected) => {
  run.stepOf = stepOf;
  const saved: (number | null)[] = [];
  const look = () => {
    const batch = loadCheckpoint(folder, "default")?.batch ?? null;
    if (batch !== null && batch !== saved.at(-1)) saved.push(batch);
  };
  await train(options({ steps: 100, checkpointInterval, onEvent: look, signal: stopAfter(STEPS) })).catch(
    () => undefined,
  );
  look();
  expect(saved).toEqual(expected);
});

test("without resume it starts afresh, whatever is there", async () => {
  await train(options({ steps: 2 }));
  const { events, onEvent } = recorder();
  await train(options({ resume: false, onEvent }));
  expect(has(events, "resumed")).toBe(false);
});
