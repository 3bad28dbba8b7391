import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { nothing } from "../definition.ts";
import { environmentWorker } from "./index.ts";
import { busy, messageOfLease } from "./testing.ts";
import { counting, halfRight, setUp } from "./testing-consumer.ts";

describe("a lease", () => {
  test("brings a group, and its message is acknowledged", async () => {
    const { run, server, deliver } = setUp();
    const message = messageOfLease(run.open({ env_id: 7, item: 5 }));
    await deliver(message);
    expect(message.settled).toBe("ack");
    expect(run.lease(1).outcome).toBe("submitted");
    const [group] = run.groups;
    expect(group).toMatchObject({ scores: [1, 0], env_id: 7, lease: 1 });
    expect(group?.tokens).toEqual(server.sampled.map(({ prompt, tokens }) => [...prompt, ...tokens]));
    expect(group?.inference_logprobs).toEqual(
      server.sampled.map(({ prompt, logprobs }) => [...prompt.map(() => 1), ...logprobs]),
    );
  });

  test.each([
    { name: "that is over was submitted by a worker that was killed then", outcome: "submitted" as const },
    { name: "that expired belongs to somebody else", outcome: "expired" as const },
  ])("$name: nothing is generated again", async ({ outcome }) => {
    const { run, server, deliver } = setUp();
    const message = messageOfLease(run.open(), 2);
    run.lease(1).outcome = outcome;
    await deliver(message);
    expect(message.settled).toBe("ack");
    expect(server.requests).toEqual([]);
    expect(run.groups).toEqual([]);
    expect(run.state.version).toBe(0);
  });

  test.each([
    { name: "waited too long on the queue", left: 200_000, renewals: 1 },
    { name: "is past its expiry but still open", left: -1_000, renewals: 1 },
    { name: "is fresh", left: 600_000, renewals: 0 },
  ])("that $name is renewed $renewals times before the work begins", async ({ left, renewals }) => {
    const { run, deliver } = setUp();
    await deliver(messageOfLease(run.open({ expires_at: Date.now() + left })));
    expect(run.lease(1)).toMatchObject({ renewals, outcome: "submitted" });
  });

  test.each([
    { delivery: 1, expires: -1_000 },
    { delivery: 2, expires: 600_000 },
    { delivery: 3, expires: 600_000 },
  ])("that the run has no endpoint for at delivery $delivery is left to expire", async ({ delivery, expires }) => {
    const { run, server, log, deliver } = setUp();
    const message = messageOfLease(run.open({ expires_at: Date.now() + expires }), delivery);
    run.intercept = (path) => (path.endsWith("/renew") ? busy(503) : null);
    await deliver(message);
    // Delivered again it would have a delivery less for failures.
    expect(message.settled).toBe("ack");
    expect(run.lease(1)).toMatchObject({ outcome: "open", failures: [] });
    expect(log).toMatchObject([{ event: "lease left", reason: "run_unavailable" }]);
    expect(server.requests).toEqual([]);
  });

  test("whose group is refused for another reason than its end is not over", async () => {
    const { run, deliver } = setUp();
    const message = messageOfLease(run.open());
    run.intercept = (path) =>
      path === "/scored_data_list" ? Response.json({ detail: "not now" }, { status: 409 }) : null;
    await deliver(message);
    expect(message.settled).toBe("retry");
    expect(run.lease(1).failures).toMatchObject([{ reason: "submit", message: expect.stringContaining("not now") }]);
  });

  test("that ends while its group is generated brings nothing, and nothing is remembered", async () => {
    const { run, log, deliver } = setUp({
      ...halfRight,
      fault: () => {
        run.lease(1).outcome = "expired";
        return null;
      },
    });
    const message = messageOfLease(run.open());
    await deliver(message);
    expect(message.settled).toBe("ack");
    expect(log).toMatchObject([{ level: "warn", event: "lease over", reason: "too_late" }]);
    expect(run.groups).toEqual([]);
    expect(run.state.version).toBe(0);
  });
});

describe("the state", () => {
  test("begins anew when the run went back to before there was one", async () => {
    const { run, deliver } = setUp();
    run.state = { version: 7, state: null };
    await deliver(messageOfLease(run.open()));
    expect(run.state).toEqual({ version: 8, state: { groups: 1, means: [0.5] } });
  });

  test("is read once and folded once an invocation", async () => {
    const { run, deliver } = setUp();
    await deliver(...[run.open(), run.open(), run.open()].map((lease) => messageOfLease(lease)));
    expect(run.state).toEqual({ version: 1, state: { groups: 3, means: [0.5, 0.5, 0.5] } });
    expect(run.requests.filter((request) => request.includes("state"))).toEqual([
      "GET /environments/0/state",
      "PUT /environments/0/state",
    ]);
  });

  test("of another invocation that saved first is folded on", async () => {
    const { run, deliver } = setUp();
    let saves = 0;
    run.intercept = (path) => {
      if (path.endsWith("/state") && run.requests.at(-1)?.startsWith("PUT") && saves++ < 2) {
        run.state = { version: run.state.version + 1, state: { groups: 10 * saves, means: [] } };
      }
      return null;
    };
    await deliver(messageOfLease(run.open()));
    expect(run.state).toEqual({ version: 3, state: { groups: 21, means: [0.5] } });
  });

  test("is folded before the message is acknowledged, and a fold that fails repeats no group", async () => {
    const { run, log, deliver } = setUp();
    const message = messageOfLease(run.open());
    const settledAtFold: (string | null)[] = [];
    run.intercept = () => {
      if (run.requests.at(-1) !== "PUT /environments/0/state") return null;
      settledAtFold.push(message.settled);
      return Response.json({ detail: "no" }, { status: 422 });
    };
    await deliver(message);
    expect(settledAtFold).toEqual([null]);
    expect(message.settled).toBe("ack");
    expect(run.groups).toHaveLength(1);
    expect(log.filter(({ level }) => level === "error")).toMatchObject([{ event: "state", reason: "state" }]);
  });
});

describe("an invocation", () => {
  test.each([{ concurrency: 5 }, { concurrency: 2 }])(
    "works on $concurrency groups at once",
    async ({ concurrency }) => {
      let [now, most] = [0, 0];
      const busy = defineEnvironment({
        name: "busy",
        config: z.object({}),
        items: (index) => index,
        rollouts: async () => {
          most = Math.max(most, ++now);
          // Everything that may begin meanwhile does.
          for (let turn = 0; turn < 50; turn++) await Promise.resolve();
          now--;
          return nothing("done");
        },
        score: () => [],
      });
      const { run, deliver } = setUp({}, { concurrency }, (platform) => environmentWorker(busy, platform));
      await deliver(...Array.from({ length: 12 }, () => messageOfLease(run.open())));
      expect(most).toBe(concurrency);
      expect([...run.leases.values()].every(({ reason }) => reason === "done")).toBe(true);
    },
  );

  test("begins nothing after 13 of its 15 minutes", async () => {
    let now = Date.now();
    const { run, server, log, deliver } = setUp(halfRight, { concurrency: 1 }, (platform) =>
      environmentWorker(counting, { ...platform, now: () => now }),
    );
    run.intercept = (path) => {
      if (path === "/scored_data_list") now += 13 * 60_000;
      return null;
    };
    const messages = [messageOfLease(run.open()), messageOfLease(run.open()), messageOfLease(run.open(), 3)];
    await deliver(...messages);
    expect(messages.map(({ settled }) => settled)).toEqual(["ack", "retry", "ack"]);
    expect(server.sampled).toHaveLength(2);
    expect([1, 2, 3].map((id) => run.lease(id).outcome)).toEqual(["submitted", "open", "open"]);
    expect(log.filter(({ event }) => event === "lease left").map(({ lease }) => lease)).toEqual([3]);
  });
});
