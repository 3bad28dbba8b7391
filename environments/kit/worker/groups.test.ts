import { describe, expect, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { nothing } from "../definition.ts";
import { environmentWorker } from "./index.ts";
import { messageOfLease } from "./testing.ts";
import { type MakeWorker, setUp } from "./testing-consumer.ts";

describe("several groups, none, and follow-ups", () => {
  const branching = defineEnvironment({
    name: "branching",
    config: z.object({ group_size: z.int().default(2), lease_sequences: z.int().default(4) }),
    item: z.object({ depth: z.int() }),
    items: () => ({ depth: 0 }),
    rollouts: async ({ item, policy, size, followUp }) => {
      if (item.depth > 1) return nothing("deep_enough");
      followUp({ depth: item.depth + 1 });
      const chat = (text: string) => policy.sample([{ role: "user", content: text }], size);
      return { groups: await Promise.all([chat("first"), chat("second")]) };
    },
    score: ({ rollouts }) =>
      rollouts.map((_, index) => ({ score: index, overrides: { set_advantage_to_zero: index === 0 } })),
  });

  const makeBranching: MakeWorker = (platform) => environmentWorker(branching, platform);

  test("a lease may bring several groups, and hand in follow-ups", async () => {
    const { run, deliver } = setUp({}, {}, makeBranching);
    await deliver(messageOfLease(run.open()));
    expect(run.groups.map(({ scores, lease }) => [lease, scores])).toEqual([
      [1, [0, 1]],
      [1, [0, 1]],
    ]);
    expect(run.groups[0]?.overrides).toEqual([{ set_advantage_to_zero: true }, { set_advantage_to_zero: false }]);
    expect(run.lease(1).backlog).toEqual([{ depth: 1 }]);
  });

  test("a follow-up is read back, and a lease may bring nothing for a reason", async () => {
    const { run, deliver } = setUp({}, {}, makeBranching);
    await deliver(messageOfLease(run.open({ item: null, backlog: { depth: 2 } })));
    expect(run.lease(1)).toMatchObject({ outcome: "skipped", reason: "deep_enough", backlog: [] });
  });

  test.each([
    { name: "is full: the group is handed in without them", status: 409, outcome: "open" as const, groups: 2 },
    {
      name: "can't read so much: the group is handed in without them",
      status: 413,
      outcome: "open" as const,
      groups: 2,
    },
    { name: "can't read them: the group is handed in without them", status: 422, outcome: "open" as const, groups: 2 },
    { name: "has ended the lease: nothing is handed in", status: 409, outcome: "expired" as const, groups: 0 },
  ])("follow-ups may be refused ($status) because the run $name", async ({ status, outcome, groups }) => {
    const { run, log, deliver } = setUp({}, {}, makeBranching);
    const message = messageOfLease(run.open());
    run.intercept = (path) => {
      if (!path.endsWith("/backlog")) return null;
      run.lease(1).outcome = outcome;
      return Response.json({ detail: "not taken" }, { status });
    };
    await deliver(message);
    expect(message.settled).toBe("ack");
    expect(run.groups).toHaveLength(groups);
    const told = groups > 0 ? [{ reason: "follow_ups_refused", message: expect.stringContaining("not taken") }] : [];
    expect(run.lease(1).failures).toMatchObject(told);
    expect(log.filter(({ event }) => event === "follow-ups")).toMatchObject(told);
  });

  const following = (items: (attempt: number) => unknown[]): MakeWorker => {
    let attempt = 0;
    const environment = defineEnvironment({
      name: "following",
      config: z.object({}),
      item: z.unknown(),
      items: (index): unknown => index,
      rollouts: async ({ followUp }) => {
        for (const item of items(++attempt)) followUp(item);
        return nothing("done");
      },
      score: () => [],
    });
    return (platform) => environmentWorker(environment, platform);
  };

  test.each([
    { name: "too large", items: ["x".repeat(20_000)], message: "at most 16384 characters of JSON, this one 20002" },
    { name: "too many", items: Array.from({ length: 101 }, (_, index) => index), message: "at most 100 follow-ups" },
    { name: "no JSON", items: [undefined], message: "undefined can't be" },
  ])("a follow-up that is $name is refused where it is made", async ({ items, message }) => {
    const { run, deliver } = setUp(
      {},
      {},
      following(() => items),
    );
    await deliver(messageOfLease(run.open()));
    expect(run.lease(1).failures).toMatchObject([{ reason: "rollout", message: expect.stringContaining(message) }]);
    expect(run.requests.filter((request) => request.endsWith("/backlog"))).toEqual([]);
  });

  test("the last attempt's follow-ups count, though it has none", async () => {
    const { run, deliver } = setUp(
      {},
      {},
      following((attempt) => (attempt === 1 ? ["first"] : [])),
    );
    const lease = run.open();
    run.intercept = (path) => {
      // Refused once, after the follow-ups were taken.
      if (!path.endsWith("/close") || run.lease(1).failures.length > 0) return null;
      return Response.json({ detail: "not now" }, { status: 400 });
    };
    await deliver(messageOfLease(lease, 1));
    expect(run.lease(1)).toMatchObject({ outcome: "open", backlog: ["first"] });
    await deliver(messageOfLease(lease, 2));
    expect(run.lease(1)).toMatchObject({ outcome: "skipped", backlog: [] });
  });

  test("a follow-up that doesn't fit fails as an item", async () => {
    const { run, deliver } = setUp({}, {}, makeBranching);
    await deliver(messageOfLease(run.open({ item: null, backlog: { depth: "two" } })));
    expect(run.lease(1).failures).toMatchObject([{ reason: "item", message: expect.stringContaining("depth") }]);
  });

  test("more sequences than the lease has room for are refused with the setting to change", async () => {
    const { run, deliver } = setUp({}, { lease_sequences: 3 }, makeBranching);
    await deliver(messageOfLease(run.open()));
    expect(run.lease(1).failures).toMatchObject([
      { reason: "rollout", message: expect.stringContaining("has room for 3: raise lease_sequences") },
    ]);
  });
});

describe("rollouts one by one", () => {
  const drawn: number[][] = [];
  const drawing = defineEnvironment({
    name: "drawing",
    config: z.object({ group_size: z.int().default(3) }),
    items: (index) => index,
    rollout: async ({ item, policy, random, index }) => {
      const trajectory = policy.trajectory({ messages: [{ role: "user", content: `${item}` }] });
      await trajectory.turn(policy.sampling);
      return { ...trajectory.rollout(), index, number: random.int(0, 1_000_000) };
    },
    score: ({ rollouts }) => {
      drawn.push(rollouts.map(({ number }) => number));
      return rollouts.map(({ index }) => (index === 1 ? null : index));
    },
  });

  test("are a group in order, each with numbers of its own that another attempt draws again", async () => {
    const { run, deliver } = setUp({}, { filters: { keep_partial: true } }, (platform) =>
      environmentWorker(drawing, platform),
    );
    for (const seed of [5, 5, 6]) await deliver(messageOfLease(run.open({ item: 0, seed })));
    expect(run.groups.map(({ scores }) => scores)).toEqual([
      [0, 2],
      [0, 2],
      [0, 2],
    ]);
    const [first = [], again, other = []] = drawn;
    expect(again).toEqual(first);
    expect(new Set([...first, ...other]).size).toBe(6);
  });
});
