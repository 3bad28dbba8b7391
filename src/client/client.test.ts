import { createExecutionContext, env, waitOnExecutionContext } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { app } from "../app.ts";
import { Client, ClientError } from "./client.ts";

/** The client and the server's routes together: what one sends the other understands. */

const OPEN = { ...env, AUTH_SECRET: undefined, ALLOW_ANONYMOUS: "true" };
let runs = 0;

async function serve(request: Request): Promise<Response> {
  const ctx = createExecutionContext();
  const response = await app.fetch(request, OPEN, ctx);
  const body = await response.arrayBuffer();
  // Until what comes after a request is done, a batch that was read doesn't count as delivered.
  await waitOnExecutionContext(ctx);
  return new Response(response.status === 204 ? null : body, response);
}

function freshClient(fetch: (request: Request) => Promise<Response> = serve): Client {
  return new Client({ url: `http://lachesis/runs/client-test-${runs++}`, fetch });
}

const ENDPOINT = { url: "http://gpu-0:8000", model: "m" };
const GROUP = {
  tokens: [
    [1, 2],
    [3, 4],
  ],
  masks: [
    [-100, 2],
    [-100, 4],
  ],
  scores: [0.5, 1],
};

/** A registered trainer (batches of 2 sequences), an endpoint, an environment. */
async function ready(client = freshClient()) {
  await client.registerTrainer({ batch_size: 2, max_token_len: 64, num_steps: 100 });
  await client.publish({ endpoints: [ENDPOINT] });
  const settings = { desired_name: "math", key: "math", max_token_length: 64, group_size: 2 };
  const registered = await client.registerEnvironment(settings);
  if (registered.status !== "success") throw new Error("not registered");
  return { client, environment: registered.env_id, settings };
}

async function leaseOne(client: Client, environment: number) {
  const { leases } = await client.leases(environment, { count: 1, wait: 0 });
  const [lease] = leases;
  if (lease === undefined) throw new Error("no lease");
  return lease;
}

async function failure(promise: Promise<unknown>): Promise<{ status: number; message: string }> {
  const error = await promise.then(
    () => null,
    (thrown: unknown) => thrown,
  );
  if (!(error instanceof ClientError)) throw new Error(`no ClientError: ${String(error)}`);
  return { status: error.status, message: error.message };
}

test("the way of a group: lease, submission, batch, ack; each again changes nothing", async () => {
  const { client, environment } = await ready();
  const lease = await leaseOne(client, environment);
  expect(lease).toMatchObject({
    kind: "train",
    item: 0,
    attempt: 1,
    group_size: 2,
    policy_version: 0,
    lease_seconds: 600,
  });
  expect(lease.endpoint).toMatchObject({ ...ENDPOINT, backend: "vllm", secret: null });
  await client.submit(lease.lease_id, [GROUP]);
  await client.submit(lease.lease_id, [GROUP]);
  expect(await client.overview()).toMatchObject({ queue_size: 1 });
  const batch = await client.takeBatch({ lease: 60, wait: 0 });
  expect(batch).toMatchObject({ id: 1, step: 1, groups: [GROUP] });
  expect(await client.takeBatch({ lease: 60, wait: 0 })).toBeNull();
  const ack = { step: 1, metrics: { reward_mean: 0.75 } };
  expect(await client.acknowledge(1, ack)).toMatchObject({ status: "acknowledged", repeated: false });
  expect(await client.acknowledge(1, ack)).toMatchObject({ repeated: true });
  expect((await client.overview()).trainer).toMatchObject({ step: 1, metrics: { reward_mean: 0.75 } });
  expect((await client.leaseRecord()).leases).toMatchObject([{ item: 0, outcome: "submitted", groups: 1 }]);
});

test("a batch that is released comes again, under the same id", async () => {
  const { client, environment } = await ready();
  await client.submit((await leaseOne(client, environment)).lease_id, [GROUP]);
  const first = await client.takeBatch({ lease: 60, wait: 0 });
  await client.release(first?.id ?? 0);
  expect(await client.takeBatch({ lease: 60, wait: 0 })).toMatchObject({
    id: first?.id,
    step: 1,
    groups: first?.groups,
  });
});

test("two ranks of a trainer share a batch, and another trainer can't acknowledge it", async () => {
  const client = freshClient();
  // Groups of a batch are ordered by shard.
  await client.registerTrainer({ batch_size: 4, max_token_len: 64, num_steps: 100, payload_shards: 1 });
  await client.publish({ endpoints: [ENDPOINT] });
  const settings = { desired_name: "math", key: "math", max_token_length: 64, group_size: 2 };
  await client.registerEnvironment(settings);
  for (let i = 0; i < 2; i++) await client.submit((await leaseOne(client, 0)).lease_id, [{ ...GROUP, i }]);
  const common = { lease: 60, wait: 0, trainer: "a" };
  const taken = [];
  for (const rank of [0, 1]) taken.push(await client.takeBatch({ ...common, slice: { rank, worldSize: 2 } }));
  expect(taken).toMatchObject([
    { id: 1, groups: [{ i: 0 }] },
    { id: 1, groups: [{ i: 1 }] },
  ]);
  expect(await failure(client.acknowledge(1, { trainer: "b" }))).toMatchObject({ status: 409 });
  expect(await client.acknowledge(1, { trainer: "a" })).toMatchObject({ repeated: false });
});

test("an environment registers again under its key, and what it asks for now holds", async () => {
  const { client, environment, settings } = await ready();
  expect(await client.registerEnvironment({ ...settings, weight: 3 })).toMatchObject({ env_id: environment });
  expect((await client.environments()).environments).toMatchObject([{ env_id: environment, weight: 3, alive: true }]);
});

test("failures are counted by reason, and follow-up items come next", async () => {
  const { client, environment } = await ready();
  const lease = await leaseOne(client, environment);
  const fault = { reason: "inference_timeout", message: "no answer in 300 s", endpoint_fault: true };
  expect(await client.renew(lease.lease_id, { failure: fault })).toMatchObject({ status: "leased" });
  await client.backlog(lease.lease_id, [{ turn: 2 }]);
  const skipped = { outcome: "skipped", reason: "equal_scores" } as const;
  expect(await client.close(lease.lease_id, skipped)).toMatchObject({ outcome: "skipped", repeated: false });
  expect(await client.renew(lease.lease_id, {})).toEqual({
    status: "closed",
    outcome: "skipped",
    reason: "equal_scores",
  });
  expect(await leaseOne(client, environment)).toMatchObject({ item: null, backlog: { turn: 2 } });
  const [{ outcomes } = { outcomes: {} }] = (await client.environments()).environments;
  expect(outcomes).toEqual({ retried: { inference_timeout: 1 }, skipped: { equal_scores: 1 } });
});

test("a state is kept by who saw the last one", async () => {
  const { client, environment } = await ready();
  expect(await client.environmentState(environment)).toEqual({ version: 0, state: null });
  expect(await client.saveEnvironmentState(environment, 0, { level: 2 })).toBe(1);
  expect(await client.saveEnvironmentState(environment, 0, { level: 9 })).toBeNull();
  expect(await client.environmentState(environment)).toEqual({ version: 1, state: { level: 2 } });
});

test("a lease whose endpoint is gone is renewed as soon as there is another", async () => {
  const answers: number[] = [];
  const client: Client = freshClient(async (request) => {
    const response = await serve(request);
    if (!request.url.endsWith("/renew")) return response;
    answers.push(response.status);
    if (response.status !== 503) return response;
    expect(response.headers.get("retry-after")).toBe("5");
    expect(await response.clone().text()).toMatch(/rollout lease 1 goes on.*no other has room/);
    await client.publish({ endpoints: [{ ...ENDPOINT, url: "http://new" }] });
    return new Response(null, { status: 503, headers: { "retry-after": "0" } });
  });
  const { environment } = await ready(client);
  const { lease_id } = await leaseOne(client, environment);
  await client.publish({ endpoints: [] });
  expect(await client.renew(lease_id, {})).toMatchObject({ lease: { endpoint: { url: "http://new" } } });
  expect(answers).toEqual([503, 200]);
});

describe("what is wrong is said", () => {
  const cases: readonly (readonly [
    what: string,
    (client: Client) => Promise<unknown>,
    status: number,
    message: RegExp,
  ])[] = [
    ["leases for nobody", (client) => client.leases(7, { count: 1, wait: 0 }), 404, /no environment has env_id 7/],
    [
      "leases for the environment that has the id now",
      (client) => client.leases(0, { count: 1, wait: 0, key: "other" }),
      404,
      /env_id 0 is not the environment of the key \\"other\\", but math_0.*register again/,
    ],
    ["too many leases", (client) => client.leases(0, { count: 101, wait: 0 }), 422, /count.*less than or equal to 100/],
    ["an unknown lease", (client) => client.renew(9, {}), 404, /no rollout lease 9/],
    ["a group for one", (client) => client.submit(9, [GROUP]), 409, /rollout lease 9 was never given out/],
    [
      "an evaluation of a lease for a group",
      (client) => client.close(1, { outcome: "evaluated" }),
      422,
      /rollout lease 1 is for a group/,
    ],
    [
      "more metrics than anyone looks at",
      (client) =>
        client.close(1, {
          outcome: "evaluated",
          metrics: Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`m${index}`, index])),
        }),
      422,
      /at most 100 metrics/,
    ],
    ["a failure that isn't named", (client) => client.close(9, { outcome: "failed" }), 422, /needs a reason/],
    ["a reason in prose", (client) => client.close(9, { outcome: "failed", reason: "It broke" }), 422, /snake_case/],
    ["an unknown batch", (client) => client.acknowledge(5), 404, /no batch has the id 5: none has been handed out/],
    [
      "a secret's value",
      (client) => client.publish({ endpoints: [{ ...ENDPOINT, secret: "sk-1" }] }),
      422,
      /never its value/,
    ],
    [
      "a password in an address",
      (client) => client.publish({ endpoints: [{ ...ENDPOINT, url: "http://me:hush@gpu" }] }),
      422,
      /name a secret/,
    ],
    ["an endpoint's address", (client) => client.publish({ endpoints: [{ ...ENDPOINT, url: "gpu" }] }), 422, /http/],
    [
      "an endpoint that is listed twice",
      (client) => client.publish({ endpoints: [ENDPOINT, { ...ENDPOINT, url: `${ENDPOINT.url}/`, secret: "KEY" }] }),
      422,
      /"endpoints",1\].*are listed already, at 0/,
    ],
    [
      "a large state",
      (client) => client.saveEnvironmentState(0, 0, "x".repeat(50_000)),
      422,
      /at most 49152 characters/,
    ],
    ["a large follow-up", (client) => client.backlog(1, ["x".repeat(20_000)]), 422, /at most 16384 characters/],
  ];
  test.each(cases)("%s", async (_what, call, status, message) => {
    const { client, environment } = await ready();
    await leaseOne(client, environment);
    const found = await failure(call(client));
    expect(found.status).toBe(status);
    expect(found.message).toMatch(message);
  });
});

describe("a server that fails", () => {
  /** Answers with each of these in turn, then as the server does. */
  function faulty(...answers: (Response | Error)[]) {
    let calls = 0;
    const fetch = async (request: Request) => {
      const answer = answers[calls++];
      if (answer instanceof Error) throw answer;
      return answer ?? serve(request);
    };
    return { client: freshClient(fetch), calls: () => calls };
  }
  const busy = () => new Response("busy", { status: 503, headers: { "retry-after": "0" } });

  test("is asked again where that does no harm", async () => {
    const { client, calls } = faulty(busy(), new Error("connection reset"), busy());
    expect(await client.policy()).toMatchObject({ version: 0, published: false });
    expect(calls()).toBe(4);
  });

  test("is given up after four tries, and what it said is passed on", async () => {
    const { client, calls } = faulty(busy(), busy(), busy(), busy());
    expect(await failure(client.policy())).toEqual({ status: 503, message: "503: GET /policy was answered busy" });
    expect(calls()).toBe(4);
  });

  test("isn't asked again for leases: nobody would know of the first ones", async () => {
    const { client, calls } = faulty(new Error("connection reset"));
    expect(await failure(client.leases(0, { count: 1, wait: 0 }))).toMatchObject({ status: 0 });
    expect(calls()).toBe(1);
  });

  test("breaks off in the middle of a batch: the batch is given back, and comes again", async () => {
    let cut = true;
    const fetch = async (request: Request) => {
      const response = await serve(request);
      if (!cut || !response.headers.has("lachesis-batch")) return response;
      cut = false;
      return new Response((await response.text()).slice(0, 30), response);
    };
    const { client, environment } = await ready(freshClient(fetch));
    await client.submit((await leaseOne(client, environment)).lease_id, [GROUP]);
    expect(await failure(client.takeBatch({ lease: 60, wait: 0 }))).toMatchObject({
      message: expect.stringContaining("batch 1 broke off"),
    });
    expect(await client.takeBatch({ lease: 60, wait: 0 })).toMatchObject({ id: 1 });
  });

  test("is none of this kind: what it answers is no batch", async () => {
    const client = freshClient(
      async () => new Response("<!doctype html>", { headers: { "content-type": "text/html" } }),
    );
    expect(await failure(client.takeBatch({ lease: 60, wait: 0 }))).toEqual({
      status: 200,
      message: expect.stringMatching(
        /^200: GET \/batch was answered with 15 characters \(text\/html\) that are no JSON/,
      ),
    });
  });

  test("isn't asked again when it refuses", async () => {
    const { client, calls } = faulty();
    expect(await failure(client.environmentState(3))).toMatchObject({ status: 404 });
    expect(calls()).toBe(1);
  });
});
