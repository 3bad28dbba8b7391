import { expect, test } from "vitest";
import { Client } from "../../src/client/client.ts";
import { requeue } from "./requeue.ts";

const endpoint = {
  id: 1,
  url: "http://127.0.0.1:1",
  model: "tiny",
  backend: "vllm",
  secret: null,
  max_training_requests: 1,
  max_evaluation_requests: 1,
};
const environment = {
  connected: true,
  alive: false,
  last_heard_seconds: 1,
  weight: 1,
  floor: null,
  group_size: 8,
  queued_sequences: 0,
  leased_sequences: 0,
  next_item: 0,
  backlog_items: 0,
  outcomes: {},
  evaluation: null,
  handed_out_groups: 0,
  handed_out_sequences: 0,
  share: 0,
  staleness: {},
};

/** A run with leases 1 to `outcomes.length`, of the environments 0, 1, 2 in turn. */
function fakeRun(outcomes: readonly string[], expired: readonly number[] = []) {
  const lease = (id: number) => ({
    lease_id: id,
    env_id: (id - 1) % 3,
    kind: "train",
    item: id,
    attempt: 1,
    policy_version: 0,
  });
  const answer = (path: string, query: URLSearchParams): unknown => {
    if (path === "/environments") {
      const names = ["gsm8k_0", "letter-counting_0", "elsewhere_0"];
      return { environments: names.map((name, env_id) => ({ ...environment, name, env_id })) };
    }
    if (path === "/leases") {
      const [after, limit] = [Number(query.get("after")), Number(query.get("limit"))];
      const all = outcomes.map((outcome, index) => ({ ...lease(index + 1), endpoint_id: 1, outcome }));
      const rest = all.map((row) => ({ ...row, reason: null, groups: 0, admitted_sequences: 0 }));
      return { leases: rest.slice(after, after + limit) };
    }
    const id = Number(/^\/leases\/(\d+)\/renew$/.exec(path)?.[1]);
    if (expired.includes(id)) return { status: "closed", outcome: "expired", reason: "expired" };
    const more = { backlog: null, seed: 1, group_size: 8, step: 0, endpoint, expires_at: 1, lease_seconds: 1 };
    return { status: "leased", lease: { ...lease(id), ...more } };
  };
  return new Client({
    url: "http://run",
    fetch: async ({ url }) => Response.json(answer(new URL(url).pathname, new URL(url).searchParams)),
  });
}

async function requeued(client: Client): Promise<[environment: string, lease: number][]> {
  const found: [string, number][] = [];
  const count = await requeue(client, "default", ["gsm8k", "letter-counting"], async (name, messages) => {
    for (const message of messages) found.push([name, Number(Object(message).lease.lease_id)]);
  });
  expect(count).toBe(found.length);
  return found;
}

test("open leases of the environments that run here go on their queues again; closed ones and others' don't", async () => {
  const found = await requeued(fakeRun(["submitted", "open", "open", "open", "expired", "open", "open"], [7]));
  expect(found).toEqual([
    ["letter-counting", 2],
    ["gsm8k", 4],
  ]);
});

test("all pages of the record are looked through", async () => {
  const outcomes = Array.from({ length: 2_500 }, (_, index) =>
    index % 1_000 === 999 || index === 2_499 ? "open" : "submitted",
  );
  expect(await requeued(fakeRun(outcomes))).toEqual([
    ["gsm8k", 1_000],
    ["letter-counting", 2_000],
    ["gsm8k", 2_500],
  ]);
});
