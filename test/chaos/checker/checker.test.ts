import { expect, test } from "vitest";
import type { Answer, Delivery, History, Submission } from "./history.ts";
import { judge } from "./index.ts";

const RECEIVED: Answer = { status: 200, body: '{"status":"received"}', repeated: false };
const AGAIN: Answer = { ...RECEIVED, repeated: true };
const OVER: Answer = { status: 409, body: '{"detail":"rollout lease 2 has ended: expired"}', repeated: false };

function submission(environment: number, identity: string | null, ids: string[], answers: Answer[]): Submission {
  const groups = ids.map((id) => ({ id, sequences: 2, policyVersion: 0, isFiltered: id === "c", digest: id }));
  return { client: `client-${environment}`, environment, identity, groups, attempts: answers.length, answers };
}

function delivery(batch: number, trainer: string, groups: string[], rest: Partial<Delivery>): Delivery {
  const times = { askedAt: 19 + batch, answeredAt: 21 + batch, heldUntil: 9_000 };
  return { batch, step: batch, slice: null, groups, digests: groups, trainer, heard: true, ...times, ...rest };
}

/**
 * Two environments, batches of two groups; batch 1 is served to one trainer, then in slices to a second, and then to a third,
 * who acknowledges it. The filters drop one group.
 */
const GOOD: History = {
  batchSize: 4,
  maxStaleness: 3,
  admissionBound: 8,
  submissions: [
    submission(0, "key a", ["a"], [RECEIVED, AGAIN]),
    submission(0, "key b", ["b"], [RECEIVED]),
    submission(0, "key c", ["c"], [RECEIVED]),
    submission(1, "lease 1", ["d"], [RECEIVED, AGAIN]),
    submission(1, "lease 2", ["e"], [OVER, OVER]),
    submission(1, "lease 3", ["f"], [RECEIVED]),
  ],
  deliveries: [
    delivery(1, "x", ["a", "d"], { askedAt: 10, answeredAt: 12, heldUntil: 5_000, heard: false }),
    delivery(1, "y", ["a", "d"], {}),
    delivery(2, "x", ["b", "f"], {}),
    delivery(1, "z", ["a"], { slice: { rank: 0, of: 2 }, askedAt: 14, answeredAt: 16, heldUntil: 7_000 }),
    delivery(1, "z", ["d"], { slice: { rank: 1, of: 2 }, askedAt: 15, answeredAt: 17, heldUntil: 7_000 }),
  ],
  rewind: { step: 1, batches: [{ batch: 2, step: 2, groups: ["b", "f"] }] },
  acks: [
    { batch: 1, trainer: "x", status: 409, repeated: false, askedAt: 23, answeredAt: 24, answeredTime: 6_000 },
    { batch: 1, trainer: "y", status: 200, repeated: false, askedAt: 24, answeredAt: 25, answeredTime: 6_000 },
    { batch: 1, trainer: "y", status: 200, repeated: true, askedAt: 26, answeredAt: 27, answeredTime: 6_000 },
    { batch: 2, trainer: "x", status: 200, repeated: false, askedAt: 30, answeredAt: 31, answeredTime: 6_000 },
  ],
  released: [],
  leases: [lease(1, 0, 1, "submitted", 1), lease(2, 1, 1, "expired", 0), lease(3, 1, 2, "submitted", 1)],
  environments: [
    { environment: 0, name: "keys", weight: 1, floor: 0.5, dropped: 1 },
    { environment: 1, name: "leases", weight: 1, floor: null, dropped: 0 },
  ],
  lastBusyStep: 2,
  payloadsEver: 7,
  payloads: [{ payload: "0/7", known: true }],
};

function lease(id: number, item: number, attempt: number, outcome: string, groups: number) {
  return { lease: id, environment: 1, item, attempt, outcome, groups, policyVersion: 0, admitted: 8 };
}

/** The checks that find something. */
function failing(history: History): string[] {
  return judge(history).flatMap(({ check, faults }) => (faults.length > 0 ? [check] : []));
}

/** The good history with one thing replaced. */
function but<Part extends keyof History>(part: Part, change: (value: History[Part]) => History[Part]): History {
  return { ...GOOD, [part]: change(GOOD[part]) };
}

function at<T>(list: readonly T[], index: number, change: Partial<T>): T[] {
  return list.map((entry, place) => (place === index ? { ...entry, ...change } : entry));
}

test("a good history passes", () => {
  expect(failing(GOOD)).toEqual([]);
});

test("so does one whose first batch came in slices alone", () => {
  const acks = GOOD.acks.map((ack) => (ack.batch === 1 ? { ...ack, trainer: "z" } : ack));
  expect(failing({ ...GOOD, deliveries: GOOD.deliveries.slice(2), acks })).toEqual([]);
});

test("a history of nothing proves nothing", () => {
  const nothing = { submissions: [], deliveries: [], acks: [], leases: [], payloadsEver: 0 };
  const empty = { ...GOOD, ...nothing, rewind: { step: 0, batches: [] } };
  expect(failing(empty)).toHaveLength(judge(empty).length);
});

const BAD: readonly (readonly [what: string, history: History, found: readonly string[]])[] = [
  [
    "a client that was never answered",
    but("submissions", (list) => at(list, 1, { answers: [] })),
    ["every submission has a definite answer"],
  ],
  [
    "a key with two answers",
    but("submissions", (list) =>
      at(list, 0, { answers: [RECEIVED, { ...AGAIN, body: '{"status":"buffered","buffer_size":2}' }] }),
    ),
    ["the same key or lease gets the same answer"],
  ],
  [
    "a lease that was refused, and then taken",
    but("submissions", (list) => at(list, 4, { answers: [OVER, RECEIVED] })),
    [
      "the same key or lease gets the same answer",
      "no group that was answered received is lost",
      "every rollout lease ended as its client was told",
    ],
  ],
  [
    "a key that was new twice",
    but("submissions", (list) => at(list, 0, { answers: [RECEIVED, RECEIVED] })),
    ["a key is answered as new at most once"],
  ],
  [
    "a group that is in no batch",
    but("environments", (list) => at(list, 0, { dropped: 0 })),
    ["no group that was answered received is lost"],
  ],
  [
    "more dropped than missing: a copy was queued",
    but("environments", (list) => at(list, 0, { dropped: 2 })),
    ["no group that was answered received is lost"],
  ],
  [
    "a group in two batches",
    but("deliveries", (list) => at(list, 2, { groups: ["a", "f"], digests: ["a", "f"] })),
    [
      "no group that was answered received is lost",
      "no group with a key or a lease is in batches twice",
      "a rewind serves the batches after its step again",
    ],
  ],
  [
    "a group twice in one batch",
    but("deliveries", (list) => at(list, 2, { groups: ["b", "b"], digests: ["b", "b"] })),
    [
      "no group that was answered received is lost",
      "no group with a key or a lease is in batches twice",
      "a rewind serves the batches after its step again",
      "shares follow the weights within 12.0 %",
    ],
  ],
  [
    "a group that was refused",
    but("deliveries", (list) => at(list, 2, { groups: ["b", "e"], digests: ["b", "e"] })),
    [
      "no group that was answered received is lost",
      "batches hold nothing that was refused or never sent",
      "a rewind serves the batches after its step again",
    ],
  ],
  [
    "a group nobody sent",
    but("deliveries", (list) => at(list, 2, { groups: ["b", "f", "z"], digests: ["b", "f", "z"] })),
    ["batches hold nothing that was refused or never sent", "a rewind serves the batches after its step again"],
  ],
  [
    "a batch that comes again in another order",
    but("deliveries", (list) => at(list, 1, { groups: ["d", "a"], digests: ["d", "a"] })),
    ["a batch that comes again is the same"],
  ],
  [
    "a batch that comes again as another step",
    but("deliveries", (list) => at(list, 1, { step: 2 })),
    ["a batch that comes again is the same"],
  ],
  [
    "a group that comes with other contents",
    but("deliveries", (list) => at(list, 2, { digests: ["b", "d"] })),
    ["groups come as they were sent"],
  ],
  [
    "a slice that comes again with other groups",
    but("deliveries", (list) => [
      ...list,
      ...list.slice(4).map((slice) => ({ ...slice, groups: ["a"], digests: ["a"] })),
    ]),
    ["slices joined in order are the batch"],
  ],
  [
    "slices that leave something out",
    but("deliveries", (list) => at(list, 4, { groups: [], digests: [] })),
    ["slices joined in order are the batch"],
  ],
  [
    "a slice of another step",
    but("deliveries", (list) => at(list, 3, { step: 2 })),
    ["slices joined in order are the batch"],
  ],
  [
    "a group that the filters drop",
    but("submissions", (list) =>
      at(list, 1, { groups: [{ id: "b", sequences: 2, policyVersion: 0, isFiltered: true, digest: "b" }] }),
    ),
    ["no group that the filters drop is in a batch"],
  ],
  [
    "a rewind that leaves a batch out",
    but("rewind", (rewind) => ({ ...rewind, step: 0 })),
    ["a rewind serves the batches after its step again"],
  ],
  [
    "a rewind to an earlier step than was asked for",
    but("rewind", ({ batches }) => ({ step: 2, batches })),
    ["a rewind serves the batches after its step again"],
  ],
  [
    "a rewind that serves another batch",
    but("rewind", ({ step }) => ({ step, batches: [{ batch: 2, step: 2, groups: ["f", "b"] }] })),
    ["a rewind serves the batches after its step again"],
  ],
  [
    "two batches of one step",
    but("deliveries", (list) => at(list, 2, { step: 1 })),
    ["steps follow each other as ids do, without a gap", "a rewind serves the batches after its step again"],
  ],
  [
    "a batch that nobody saw",
    but("deliveries", (list) => at(list, 2, { batch: 3, step: 3 })),
    [
      "no group that was answered received is lost",
      "steps follow each other as ids do, without a gap",
      "acks come from trainers that had the batch",
      "every batch is acknowledged in the end",
      "a rewind serves the batches after its step again",
    ],
  ],
  [
    "a batch that is too small",
    but("submissions", (list) => [
      ...list.filter(({ identity }) => identity !== "lease 3"),
      {
        ...submission(1, "lease 3", [], [RECEIVED]),
        groups: [{ id: "f", sequences: 1, policyVersion: 0, isFiltered: false, digest: "f" }],
      },
    ]),
    ["every batch has 4 sequences", "shares follow the weights within 12.0 %"],
  ],
  [
    "two trainers that were both the first",
    but("acks", (list) => at(list, 2, { repeated: false })),
    ["a batch is acknowledged for the first time once"],
  ],
  [
    "an ack of a trainer that never had it",
    but("acks", (list) => at(list, 3, { trainer: "z" })),
    ["acks come from trainers that had the batch", "no trainer acknowledges what another one holds"],
  ],
  [
    "an ack while another trainer holds the batch",
    but("acks", (list) => at(list, 0, { status: 200 }).toSpliced(1, 1)),
    ["no trainer acknowledges what another one holds"],
  ],
  [
    "a batch that was never acknowledged",
    but("acks", (list) => list.slice(0, 3)),
    ["no group that was answered received is lost", "every batch is acknowledged in the end"],
  ],
  [
    "a batch that is served after its ack",
    but("deliveries", (list) => [
      ...list,
      ...list.slice(2).map((batch) => ({ ...batch, askedAt: 32, answeredAt: 33 })),
    ]),
    ["a batch that was acknowledged is never served again"],
  ],
  [
    "too much admitted",
    but("leases", (list) => at(list, 0, { admitted: 9 })),
    ["queued and leased sequences stay within the bound"],
  ],
  ["a stale group", but("maxStaleness", () => 0), ["no group is staler than 0 steps"]],
  [
    "a batch below a floor",
    but("environments", (list) => at(list, 0, { floor: 0.75 })),
    ["every batch keeps the floors"],
  ],
  [
    "shares unlike the weights",
    but("environments", (list) => at(list, 0, { weight: 3 })),
    ["shares follow the weights within 12.0 %"],
  ],
  [
    "a lease that took groups, and expired on record",
    but("leases", (list) => at(list, 0, { outcome: "expired" })),
    ["every rollout lease ended as its client was told"],
  ],
  [
    "a lease that never ends",
    but("leases", (list) => at(list, 1, { outcome: "open" })),
    [
      "every rollout lease ended as its client was told",
      "every item is drawn once, and again only when its lease was lost",
    ],
  ],
  [
    "an item that was drawn twice",
    but("leases", (list) => at(list, 2, { item: 0, attempt: 1 })),
    ["every item is drawn once, and again only when its lease was lost"],
  ],
  [
    "an item that was left out",
    but("leases", (list) => at(list, 0, { item: 2 })),
    ["every item is drawn once, and again only when its lease was lost"],
  ],
  [
    "bytes that nobody knows of",
    but("payloads", (list) => at(list, 0, { known: false })),
    ["no payload is left behind in a shard"],
  ],
];

test.each(BAD)("found: %s", (_what, history, found) => {
  expect(failing(history)).toEqual(found);
});
