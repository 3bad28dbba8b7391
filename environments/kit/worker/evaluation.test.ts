import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { fakeEndpoint } from "../inference/testing.ts";
import { environmentWorker } from "./index.ts";
import { messageOfLease } from "./testing.ts";
import { asked, counting, setUp } from "./testing-consumer.ts";

describe("an evaluation", () => {
  test("gives the mean score of held-out items, and is no training", async () => {
    const { run, server, deliver } = setUp(
      { answer: ({ prompt }) => (Number(asked(prompt)) < 2 ? asked(prompt) : "?") },
      { eval_items: 4 },
    );
    const message = messageOfLease(run.open({ kind: "evaluate", item: null }));
    await deliver(message);
    expect(message.settled).toBe("ack");
    expect(run.lease(1)).toMatchObject({
      outcome: "evaluated",
      metrics: { score: 0.5, items: 4, dropped: 0, truncated: 0 },
    });
    expect(run.groups).toEqual([]);
    expect(run.state.version).toBe(0);
    const bodies = server.requests.filter(({ path }) => path === "/v1/completions").map(({ body }) => body);
    expect(bodies).toHaveLength(4);
    for (const body of bodies) expect(body).toMatchObject({ temperature: 0, n: 1 });
  });

  test.each([1, 3])("asks an endpoint that takes %i requests for evaluation at once for no more", async (most) => {
    const held: (() => void)[] = [];
    let sent = 0;
    const { run, server, deliver } = setUp({}, { eval_items: 6 }, (platform) =>
      environmentWorker(counting, {
        ...platform,
        fetch: async (url, init) => {
          sent++;
          await new Promise<void>((resolve) => held.push(resolve));
          return server.fetch(url, init);
        },
      }),
    );
    const endpoint = fakeEndpoint({ max_evaluation_requests: most });
    const delivered = deliver(messageOfLease(run.open({ kind: "evaluate", item: null, endpoint })));
    // Each of the six is rendered and completed.
    for (let answered = 0; answered < 12; answered++) {
      await expect.poll(() => held.length).toBe(Math.min(most, 12 - answered));
      held.shift()?.();
    }
    await delivered;
    expect(sent).toBe(12);
    expect(run.lease(1).outcome).toBe("evaluated");
  });

  test.each([
    {
      name: "throws at once",
      evaluate: () => {
        throw new Error("no metrics");
      },
    },
    { name: "throws later", evaluate: async () => Promise.reject(new Error("no metrics")) },
    {
      name: "gives too many",
      evaluate: async () => Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`m${index}`, 1])),
      text: "101 metrics, and an evaluation has at most 100",
    },
    {
      name: "gives a name too long",
      evaluate: async () => ({ ["m".repeat(257)]: 1 }),
      text: "a metric's name has 1 to 256 characters",
    },
    { name: "gives no number", evaluate: async () => ({ accuracy: Number.NaN }) },
  ])("of the environment's own that $name fails as `evaluate`", async ({ evaluate, text = "metric" }) => {
    const own = defineEnvironment({
      name: "own",
      config: z.object({ eval_items: z.int().default(1) }),
      items: (index) => index,
      prompt: () => [],
      score: () => [],
      evaluate,
    });
    const { run, deliver } = setUp({}, {}, (platform) => environmentWorker(own, platform));
    await deliver(messageOfLease(run.open({ kind: "evaluate", item: null })));
    expect(run.lease(1).failures).toMatchObject([{ reason: "evaluate", message: expect.stringContaining(text) }]);
  });

  test("that fails is tried again, as a group is", async () => {
    const { run, deliver } = setUp({ fault: () => new Response("oops") }, { eval_items: 1 });
    const message = messageOfLease(run.open({ kind: "evaluate", item: null }));
    await deliver(message);
    expect(message.settled).toBe("retry");
    expect(run.lease(1).failures).toMatchObject([{ reason: "inference_response" }]);
  });
});
