import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { environmentWorker } from "./index.ts";
import type { LogEntry } from "./log.ts";
import { PUMP_SECONDS } from "./pump.ts";
import { FakeRun } from "./testing.ts";

const environment = defineEnvironment({
  name: "pumped",
  config: z.object({}),
  items: (index) => index,
  prompt: (item) => [{ role: "user", content: `${item}` }],
  score: ({ rollouts }) => rollouts.map(() => 1),
});

/** A Worker whose minute is a simulated one: every request takes a second, every pause what it lasts. */
function setUp({ config = {}, queueFails = 0 } = {}) {
  const run = new FakeRun();
  const log: LogEntry[] = [];
  const batches: { body: unknown }[][] = [];
  let now = 1_000_000;
  const began = now;
  const worker = environmentWorker(environment, {
    now: () => now,
    sleep: async (ms) => {
      now += ms;
    },
    log: (entry) => log.push(entry),
  });
  const LACHESIS = {
    fetch: async (request: Request) => {
      const { wait = 0 } = Object(await request.clone().json());
      // A long poll that finds nothing takes all of its time.
      now += 1_000 + (run.waiting.length === 0 && run.trainer !== "finished" ? wait * 1_000 : 0);
      return run.fetch(request);
    },
  };
  const ROLLOUTS = {
    sendBatch: async (messages: Iterable<{ body: unknown }>) => {
      if (queueFails-- > 0) throw new Error("queue is down");
      batches.push([...messages]);
    },
  };
  const env = { LACHESIS, RUN: "", PRESET: "", CONFIG: JSON.stringify(config), ROLLOUTS };
  const pump = () => worker.scheduled({}, env);
  return { run, log, batches, pump, worker, env, seconds: () => (now - began) / 1000 };
}

describe("the pump", () => {
  test("registers, then polls until its minute ends, and not longer", async () => {
    const { run, pump, seconds } = setUp({ config: { weight: 2, floor: 0.25, steps_per_eval: 5 } });
    await pump();
    expect(run.registrations).toMatchObject([
      {
        desired_name: "pumped",
        key: "pumped",
        group_size: 8,
        weight: 2,
        min_batch_allocation: 0.25,
        lease_sequences: 8,
        steps_per_eval: 5,
      },
    ]);
    expect(new Set(run.requests)).toEqual(new Set(["POST /register-env", "POST /leases"]));
    expect(seconds()).toBeGreaterThanOrEqual(PUMP_SECONDS - 1);
    // The last poll's own second may come on top.
    expect(seconds()).toBeLessThanOrEqual(PUMP_SECONDS + 1);
    expect(run.disconnected).toBe(0);
  });

  test("puts every lease on the queue, as a message of its own", async () => {
    const { run, batches, pump } = setUp();
    const leases = Array.from({ length: 120 }, () => run.open());
    run.waiting.push(...leases);
    await pump();
    expect(batches.flat().map(({ body }) => body)).toEqual(leases.map((lease) => ({ run: "default", lease })));
  });

  test("waits for a trainer, and asks again", async () => {
    const { run, log, pump } = setUp();
    run.trainer = "waiting";
    run.intercept = (_path, request) => {
      if (request === 4) run.trainer = "registered";
      return null;
    };
    await pump();
    expect(run.registrations).toHaveLength(5);
    expect(run.requests).toContain("POST /leases");
    expect(log.filter(({ reason }) => reason === "no_trainer")).toHaveLength(1);
  });

  test("of a run that reached its last step disconnects and ends", async () => {
    const { run, pump, seconds } = setUp();
    run.trainer = "finished";
    await pump();
    expect(run.disconnected).toBe(1);
    expect(seconds()).toBeLessThan(5);
  });

  test("of a run that reached its last step stays until the last evaluation has ended", async () => {
    const { run, batches, log, pump } = setUp();
    run.trainer = "finished";
    const lease = run.open({ kind: "evaluate", item: null });
    run.waiting.push(lease);
    run.intercept = (path, request) => {
      if (path === "/leases" && request === 4) run.lease(lease.lease_id).outcome = "evaluated";
      return null;
    };
    await pump();
    expect(batches.flat()).toMatchObject([{ body: { lease: { kind: "evaluate" } } }]);
    expect(run.requests).toEqual(["POST /register-env", ...Array(4).fill("POST /leases"), "POST /disconnect-env"]);
    expect(log.map(({ reason }) => reason)).toEqual(["evaluating", "num_steps"]);
  });

  test.each<[string, () => Response, string, string]>([
    ["a token is needed", () => Response.json({ detail: "none" }, { status: 401 }), "status_401", "LACHESIS_TOKEN"],
    [
      "something else answers",
      () => new Response("<!doctype html>"),
      "status_200",
      "names another Worker than the API",
    ],
  ])("goes on after errors, and tells each cause once, with what to do: %s", async (_what, answer, reason, advice) => {
    const { run, log, pump } = setUp();
    run.intercept = (_path, request) => (request < 3 ? answer() : null);
    await pump();
    expect(run.registrations).toHaveLength(1);
    const errors = log.filter(({ level }) => level === "error");
    expect(errors).toMatchObject([{ reason, message: expect.stringContaining(advice) }]);
  });

  test("registers again with a run that was reset, and goes on under its new id", async () => {
    const { run, batches, pump } = setUp();
    run.intercept = async (path, request) => {
      if (path !== "/leases" || request > 4) return null;
      if (request === 3) run.waiting.push(run.open());
      return Response.json({ detail: "env_id 0 is another environment: register again" }, { status: 404 });
    };
    await pump();
    expect(run.requests.slice(0, 6)).toEqual([
      ...["POST /register-env", "POST /leases", "POST /register-env", "POST /leases", "POST /register-env"],
      "POST /leases",
    ]);
    expect(run.keys).toEqual(new Set(["pumped"]));
    expect(batches.flat()).toHaveLength(1);
  });

  test("tries again to put leases on the queue", async () => {
    const { run, batches, log, pump } = setUp({ queueFails: 3 });
    run.waiting.push(run.open(), run.open());
    await pump();
    expect(batches.map((batch) => batch.length)).toEqual([2]);
    expect(log.filter(({ reason }) => reason === "queue_unavailable")).toMatchObject([{ message: "queue is down" }]);
  });

  test("leaves leases open that no try of its minute puts on the queue: they expire, and no item is skipped", async () => {
    const { run, batches, log, pump, seconds } = setUp({ queueFails: Number.POSITIVE_INFINITY });
    run.waiting.push(run.open(), run.open());
    await pump();
    expect([...run.leases.values()].map(({ outcome }) => outcome)).toEqual(["open", "open"]);
    expect(batches).toEqual([]);
    expect(log.at(-1)).toMatchObject({ level: "error", event: "leases left", reason: "queue_unavailable", leases: 2 });
    expect(seconds()).toBeLessThanOrEqual(PUMP_SECONDS + 1);
  });

  test("without a queue says so as a fault of the set-up, and so does the status page", async () => {
    const { run, log, worker, env } = setUp();
    const without = Object({ ...env, ROLLOUTS: undefined });
    await worker.scheduled({}, without);
    const message = expect.stringContaining("ROLLOUTS");
    expect(log).toMatchObject([{ level: "error", event: "pump", reason: "setup", message }]);
    expect(run.requests).toEqual([]);
    const page = await worker.fetch(new Request("https://pumped.test/"), without);
    expect([page.status, await page.json()]).toMatchObject([500, { error: message }]);
    expect((await worker.fetch(new Request("https://pumped.test/"), env)).status).toBe(200);
  });

  test("fails a lease whose item no message can hold, and it alone", async () => {
    const { run, batches, pump } = setUp();
    run.waiting.push(run.open({ item: null, backlog: "x".repeat(130_000) }), run.open());
    await pump();
    expect(run.lease(1)).toMatchObject({ outcome: "failed", reason: "item_too_large" });
    expect(batches.flat()).toHaveLength(1);
  });
});
