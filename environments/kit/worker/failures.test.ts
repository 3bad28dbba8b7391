import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { fakeEndpoint } from "../inference/testing.ts";
import { environmentWorker } from "./index.ts";
import { busy, FakeMessage, messageOfLease } from "./testing.ts";
import { halfRight, setUp } from "./testing-consumer.ts";

describe("a failure", () => {
  test.each([
    { reason: "item", config: { broken: "item" }, server: halfRight, text: "no item 0" },
    { reason: "score", config: { broken: "score" }, server: halfRight, text: "no score" },
    { reason: "inference_response", config: {}, server: { fault: () => new Response("oops") }, text: "no JSON" },
    {
      reason: "timeout",
      config: { rollout_timeout_seconds: 0.05 },
      server: { fault: () => "hang" as const },
      text: "waiting for the inference endpoint",
    },
  ])("$reason is reported at once, and after the third the lease fails", async ({ reason, config, server, text }) => {
    const { run, deliver } = setUp(server, config);
    const lease = run.open();
    const messages = [1, 2, 3].map((attempts) => messageOfLease(lease, attempts));
    for (const message of messages) await deliver(message);
    expect(messages.map(({ settled }) => settled)).toEqual(["retry", "retry", "retry"]);
    const [first = 0, second = 0, third] = messages.map(({ delaySeconds }) => delaySeconds ?? undefined);
    expect(first).toBeGreaterThanOrEqual(5);
    expect(second).toBeGreaterThanOrEqual(10);
    expect(third).toBeUndefined();
    expect(run.lease(1)).toMatchObject({ outcome: "failed", reason });
    expect(run.lease(1).failures).toHaveLength(3);
    for (const failure of run.lease(1).failures) {
      expect(failure).toMatchObject({ reason, message: expect.stringContaining(text) });
    }
    expect(run.groups).toEqual([]);
  });

  test.each([
    { name: "sends no headers", fault: () => "hang" as const, blamed: true },
    { name: "hangs in its answer", fault: () => new Response(new ReadableStream()), blamed: true },
    {
      name: "asks to wait longer than there is time",
      fault: () => new Response("", { status: 503, headers: { "retry-after": "30" } }),
      blamed: true,
    },
    { name: "has answered everything", fault: () => null, blamed: false },
  ])("when the time is over is the endpoint's ($blamed) that $name", async ({ fault, blamed }) => {
    const stuck = defineEnvironment({
      name: "stuck",
      config: z.object({}),
      items: (index) => index,
      rollouts: async ({ policy }) => {
        const rollouts = await policy.sample([{ role: "user", content: "?" }], 8);
        await new Promise<never>(() => {});
        return rollouts;
      },
      score: () => [],
    });
    const { run, deliver } = setUp({ fault }, { rollout_timeout_seconds: 1 }, (platform) =>
      environmentWorker(stuck, platform),
    );
    await deliver(messageOfLease(run.open()));
    expect(run.lease(1).failures).toMatchObject([{ reason: "timeout", endpoint_fault: blamed }]);
  });

  test("of an endpoint moves the next attempt to another one", async () => {
    const { run, hosts, deliver } = setUp({
      ...halfRight,
      fault: (_path, request) => (request === 0 ? new Response("oops") : null),
    });
    const lease = run.open();
    await deliver(messageOfLease(lease, 1));
    await deliver(messageOfLease(lease, 2));
    expect(run.lease(1).failures).toMatchObject([{ reason: "inference_response", endpoint_fault: true }]);
    expect([...hosts]).toEqual(["inference.test", "other.test"]);
    expect(run.lease(1).outcome).toBe("submitted");
  });

  test("for want of an endpoint's secret names the secret", async () => {
    const { run, deliver } = setUp();
    await deliver(messageOfLease(run.open({ endpoint: fakeEndpoint({ secret: "INFERENCE_KEY" }) })));
    expect(run.lease(1).failures).toMatchObject([
      { reason: "inference_secret", message: expect.stringContaining("wrangler secret put INFERENCE_KEY") },
    ]);
  });

  test("for an endpoint that names a secret it has no claim to sends nothing anywhere", async () => {
    const { run, server, deliver } = setUp();
    const endpoint = fakeEndpoint({ url: "https://elsewhere.test", secret: "LACHESIS_TOKEN" });
    await deliver(messageOfLease(run.open({ endpoint })));
    expect(run.lease(1).failures).toMatchObject([
      { reason: "inference_secret", message: expect.stringContaining("begin with INFERENCE_") },
    ]);
    expect(server.requests).toEqual([]);
  });

  test("while the lease is over is no failure", async () => {
    const { run, deliver } = setUp(halfRight, { broken: "score" });
    const message = messageOfLease(run.open());
    run.intercept = (path) => {
      if (path.endsWith("/renew")) run.lease(1).outcome = "expired";
      return null;
    };
    await deliver(message);
    expect(message.settled).toBe("ack");
  });

  test.each([409, 503])("while the run has no endpoint for the lease (%i) is tried again later", async (status) => {
    const { run, deliver } = setUp(halfRight, { broken: "score" });
    const message = messageOfLease(run.open());
    run.intercept = (path) => (path.endsWith("/renew") ? busy(status) : null);
    await deliver(message);
    expect(message.settled).toBe("retry");
    expect(run.lease(1).outcome).toBe("open");
  });

  test("that can't be reported is tried again all the same", async () => {
    const { run, log, deliver } = setUp(halfRight, { broken: "score" });
    const message = messageOfLease(run.open());
    run.intercept = (path) => (path.endsWith("/renew") ? Response.json({ detail: "no" }, { status: 403 }) : null);
    await deliver(message);
    expect(message.settled).toBe("retry");
    expect(log.map(({ event }) => event)).toContain("report");
  });

  test("of one message leaves its neighbours alone", async () => {
    const { run, log, deliver } = setUp({
      ...halfRight,
      fault: (path, request) => (path === "/tokenize" && request === 0 ? new Response("oops") : null),
    });
    const messages = [run.open(), run.open(), run.open()].map((lease) => messageOfLease(lease));
    const malformed = new FakeMessage({ lease: { lease_id: "one" } });
    const otherRun = new FakeMessage({ run: "other", lease: run.open() });
    await deliver(malformed, ...messages, otherRun);
    expect([malformed, ...messages, otherRun].map(({ settled }) => settled)).toEqual([
      "ack",
      "retry",
      "ack",
      "ack",
      "ack",
    ]);
    expect(run.groups).toHaveLength(2);
    expect(log.filter(({ reason }) => reason === "malformed" || reason === "other_run")).toHaveLength(2);
  });

  test.each([1, 2, 3])(
    "of the set-up at delivery %i is told with its remedy and counted, and costs neither item nor delivery",
    async (attempts) => {
      const { run, log, deliver } = setUp(halfRight, { group_sise: 3 });
      const message = messageOfLease(run.open(), attempts);
      await deliver(message);
      expect(message.settled).toBe("ack");
      // Open: it expires, and its item is leased again, with three deliveries.
      expect(run.lease(1).outcome).toBe("open");
      const told = { reason: "setup", message: expect.stringContaining('"group_sise"') };
      expect(run.lease(1).failures).toMatchObject([told]);
      expect(log).toMatchObject([told]);
    },
  );

  test("of the set-up that leaves no way to the run leaves leases to expire", async () => {
    const { run, log, worker } = setUp();
    const messages = [messageOfLease(run.open()), new FakeMessage("malformed")];
    await worker.queue({ messages }, { ROLLOUTS: { sendBatch: async () => {} }, RUN: "", PRESET: "", CONFIG: "" });
    expect(messages.map(({ settled }) => settled)).toEqual(["ack", "ack"]);
    expect(run.lease(1).outcome).toBe("open");
    expect(log).toMatchObject([{ reason: "setup", message: expect.stringContaining("LACHESIS") }]);
  });

  test("of the set-up concerns the leases of its own run", async () => {
    const { run, deliver } = setUp(halfRight, { group_sise: 3 });
    const messages = [
      new FakeMessage({ run: "other", lease: run.open() }),
      new FakeMessage("malformed"),
      messageOfLease(run.open({ lease_id: 2 })),
    ];
    await deliver(...messages);
    expect(messages.map(({ settled }) => settled)).toEqual(["ack", "ack", "ack"]);
    expect([1, 2].map((id) => run.lease(id).failures.length)).toEqual([0, 1]);
  });

  test("of the set-up whose lease is over is nobody's", async () => {
    const { run, deliver } = setUp(halfRight, { group_sise: 3 });
    const message = messageOfLease(run.open());
    run.lease(1).outcome = "expired";
    await deliver(message);
    expect(message.settled).toBe("ack");
  });

  test("never shows a secret or a payload in the log", async () => {
    const { run, log, deliver } = setUp({ fault: () => new Response("oops") });
    await deliver(messageOfLease(run.open()));
    expect(JSON.stringify(log)).not.toMatch(/Bearer|oops/);
    expect(log).toMatchObject([{ event: "failed", environment: "counting", run: "default", lease: 1, item: 0 }]);
  });
});
