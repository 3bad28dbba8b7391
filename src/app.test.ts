import {
  createExecutionContext,
  env,
  runDurableObjectAlarm,
  runInDurableObject,
  waitOnExecutionContext,
} from "cloudflare:test";
import { gunzipSync, gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { app } from "./app.ts";

let runs = 0;
const freshRun = () => `app-test-${runs++}`;

const OPEN = { ...env, AUTH_SECRET: undefined, ALLOW_ANONYMOUS: "true" };
const REGISTRATION = {
  wandb_group: null,
  wandb_project: null,
  batch_size: 2,
  max_token_len: 64,
  checkpoint_dir: "/ckpt",
  save_checkpoint_interval: 10,
  starting_step: 0,
  num_steps: 100,
};
const GROUP = {
  tokens: [
    [1, 2],
    [3, 4],
  ],
  masks: [
    [1, 2],
    [3, 4],
  ],
  scores: [0.5, 1],
};

/** Answers with all that comes after the request done, so that a batch that was read counts as delivered. */
async function call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, settings = {}) {
  const ctx = createExecutionContext();
  const init = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const request = new Request(`http://lachesis${path}`, { method, headers, ...init });
  const response = await app.fetch(request, { ...OPEN, ...settings }, ctx);
  const bytes = new Uint8Array(await response.arrayBuffer());
  await waitOnExecutionContext(ctx);
  return { status: response.status, headers: response.headers, bytes, text: new TextDecoder().decode(bytes) };
}

async function stepOf(run: string): Promise<number> {
  return (await env.RUN.getByName(run).status()).step;
}

describe("a batch", () => {
  test("is taken by GET, never by HEAD or another method", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, REGISTRATION);
    await call("POST", `/runs/${run}/scored_data`, GROUP);
    for (const method of ["HEAD", "POST", "PUT", "DELETE"]) {
      expect((await call(method, `/runs/${run}/batch`)).status, method).toBe(405);
    }
    expect(await stepOf(run)).toBe(0);
    const batch = await call("GET", `/runs/${run}/batch`);
    expect(JSON.parse(batch.text)).toMatchObject({ batch: [GROUP] });
    expect([batch.headers.get("lachesis-batch"), batch.headers.get("lachesis-step")]).toEqual(["1", "1"]);
    expect((await call("GET", `/runs/${run}/batch`)).text).toBe('{"batch":null}');
  });

  test.each(["-1", "abc", "301", ""])("is not waited for with wait=%j", async (wait) => {
    const run = freshRun();
    const { status, text } = await call("GET", `/runs/${run}/batch?wait=${wait}`);
    expect(status).toBe(422);
    expect(JSON.parse(text)).toMatchObject({ detail: [{ loc: ["query", "wait"] }] });
  });

  test("comes gzipped to who takes gzip, and is the same text", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, batch_size: 400 });
    const long = { ...GROUP, tokens: [Array(300).fill(5), [1]], masks: [Array(300).fill(5), [1]] };
    await call("POST", `/runs/${run}/scored_data_list`, Array(200).fill(long));
    const batch = await call("GET", `/runs/${run}/batch`, undefined, { "accept-encoding": "gzip, deflate" });
    expect(batch.headers.get("content-encoding")).toBe("gzip");
    const { batch: groups } = JSON.parse(gunzipSync(batch.bytes).toString()) as { batch: unknown[] };
    expect(groups).toHaveLength(200);
    expect(groups[0]).toMatchObject(long);
  });

  test("of groups larger than a row comes whole", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, batch_size: 4 });
    const tokens = [Array.from({ length: 400_000 }, (_, at) => at), [1]];
    const large = { ...GROUP, tokens, masks: tokens };
    const answer = await call("POST", `/runs/${run}/scored_data_list`, [large, GROUP]);
    expect(JSON.parse(answer.text)).toEqual({ status: "received", groups_processed: 2 });
    expect(JSON.parse((await call("GET", `/runs/${run}/batch`)).text)).toMatchObject({ batch: [large, GROUP] });
    expect(JSON.parse((await call("GET", `/runs/${run}/latest_example`)).text)).toMatchObject(GROUP);
  });
});

describe("a body", () => {
  const limited = { BODY_LIMIT_MIB: "0.001" };

  test.each(["/scored_data", "/scored_data_list"])(
    "past the limit is a 413 at %s, and nothing is queued",
    async (path) => {
      const run = freshRun();
      const long = { ...GROUP, messages: [[{ role: "user", content: "x".repeat(2_000) }]] };
      const body = path === "/scored_data" ? long : [GROUP, long];
      expect((await call("POST", `/runs/${run}${path}`, body, {}, limited)).status).toBe(413);
      expect((await env.RUN.getByName(run).status()).queueSize).toBe(0);
    },
  );

  test("that says gzip and isn't is the stock server's text, in an encoding nobody knows a 415", async () => {
    const broken = await call("POST", "/scored_data", "{}", { "content-encoding": "gzip" });
    expect([broken.status, broken.text]).toEqual([400, "Invalid gzip payload"]);
    expect((await call("POST", "/scored_data", "{}", { "content-encoding": "br" })).status).toBe(415);
  });
});

describe("a path", () => {
  test.each([
    ["GET", "/nowhere", 404],
    ["GET", "/runs/math/nowhere", 404],
    ["GET", "/runs/no%20such%20name/status", 404],
    ["GET", "/runs/math/as/no%20such%20label/status-env", 404],
    ["POST", "/status", 405],
    ["GET", "/register", 405],
    ["GET", "/runs/math/scored_data", 405],
    ["DELETE", "/runs/math/as/first/status-env", 405],
  ])("%s %s is %d", async (method, path, expected) => {
    const { status, text } = await call(method, path);
    expect(status).toBe(expected);
    expect(JSON.parse(text)).toHaveProperty("detail");
  });
});

test.each<[path: string, body: unknown, loc: string[], known: string, shown: object]>([
  ["/policy", { endpoint: [] }, ["body", "endpoint"], "version, endpoints", {}],
  ["/batches/1/ack", { trainr: "a" }, ["body", "trainr"], "step, metrics, trainer, hold", { input: "a" }],
  [
    "/register",
    { ...REGISTRATION, filters: { equal_score: true } },
    ["body", "filters", "equal_score"],
    "equal_scores, min_mean_score, max_mean_score, max_sequence_length",
    { input: true },
  ],
])("%s with a field it doesn't know is refused, and told which there are", async (path, body, loc, known, shown) => {
  const { status, text } = await call("POST", `/runs/${freshRun()}${path}`, body);
  expect(status).toBe(422);
  const message = `No such field; there are: ${known}`;
  expect(JSON.parse(text)).toEqual({ detail: [{ type: "extra_forbidden", loc, msg: message, ...shown }] });
});

test("a query for a batch that is misspelt doesn't take one", async () => {
  const run = freshRun();
  await call("POST", `/runs/${run}/register`, REGISTRATION);
  await call("POST", `/runs/${run}/scored_data`, GROUP);
  const { status, text } = await call("GET", `/runs/${run}/batch?leese=60`);
  expect(status).toBe(422);
  expect(text).toContain("wait, lease, trainer, rank, world_size");
  expect(await stepOf(run)).toBe(0);
});

test("fields that the stock API doesn't know are taken and ignored, as it does", async () => {
  const run = freshRun();
  expect((await call("POST", `/runs/${run}/register`, { ...REGISTRATION, more: 1 })).status).toBe(200);
});

test("groups larger than a batch are named one by one, and the request is not taken", async () => {
  const run = freshRun();
  await call("POST", `/runs/${run}/register`, { ...REGISTRATION, batch_size: 1 });
  const one = { tokens: [[1]], masks: [[1]], scores: [1] };
  const { status, text } = await call("POST", `/runs/${run}/scored_data_list`, [one, GROUP]);
  expect(status).toBe(422);
  expect(JSON.parse(text)).toMatchObject({
    detail: [{ loc: ["body", 1, "tokens"], ctx: { sequences: 2, batch_size: 1 } }],
  });
  expect((await env.RUN.getByName(run).status()).queueSize).toBe(0);
});

test("the environment a poll means: by id, by label, the only one, or a 422", async () => {
  const run = freshRun();
  const at = `/runs/${run}`;
  const environment = { max_token_length: 64, desired_name: "math", weight: 1, group_size: 2 };
  expect(JSON.parse((await call("POST", `${at}/register-env`, environment)).text)).toEqual({
    status: "wait for trainer to start",
  });
  await call("POST", `${at}/register`, REGISTRATION);
  await call("POST", `${at}/as/first/register-env`, environment);
  expect((await call("GET", `${at}/status-env`)).status).toBe(200);
  await call("POST", `${at}/as/second/register-env`, environment);
  expect((await call("GET", `${at}/status-env`)).status).toBe(422);
  expect((await call("GET", `${at}/as/second/status-env`)).status).toBe(200);
  expect((await call("GET", `${at}/as/third/status-env`)).status).toBe(404);
  expect((await call("GET", `${at}/status-env?env_id=1`)).status).toBe(200);
  expect((await call("GET", `${at}/status-env?env_id=2`)).status).toBe(404);
  expect((await call("GET", `${at}/status-env?env_id=first`)).status).toBe(422);
});

test("a request whose object ends at work is told to try again, not that the server is at fault", async () => {
  const run = freshRun();
  await call("POST", `/runs/${run}/register`, REGISTRATION);
  const stub = env.RUN.getByName(run);
  const waiting = call("GET", `/runs/${run}/batch?wait=60`);
  await expect.poll(async () => (await stub.overview()).waitingTrainers).toBe(1);
  await runInDurableObject(stub, (_instance, state) => state.abort("reset")).catch(() => undefined);
  const { status, headers } = await waiting;
  expect([status, headers.get("retry-after")]).toEqual([503, "1"]);
});

describe("exactly once over HTTP", () => {
  // Groups of a batch are ordered by shard.
  const settings = { ...REGISTRATION, batch_size: 4, payload_shards: 1 };
  const post = (run: string, body: unknown, headers: Record<string, string> = {}) =>
    call("POST", `/runs/${run}/scored_data`, body, headers);

  test("a request with an Idempotency-Key that comes again is told so, and changes nothing", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, settings);
    const key = { "idempotency-key": "3f2c-1" };
    const first = await post(run, GROUP, key);
    const again = await post(run, GROUP, key);
    expect([first.text, again.text]).toEqual(['{"status":"received"}', '{"status":"received"}']);
    expect([first.headers.get("lachesis-repeated"), again.headers.get("lachesis-repeated")]).toEqual([null, "true"]);
    const list = await call("POST", `/runs/${run}/scored_data_list`, [GROUP], key);
    expect([list.headers.get("lachesis-repeated"), list.text]).toEqual([
      "true",
      '{"status":"received","groups_processed":1}',
    ]);
    expect(JSON.parse((await call("GET", `/runs/${run}/status`)).text)).toMatchObject({ queue_size: 1 });
    expect((await post(run, GROUP, { "idempotency-key": "with space" })).status).toBe(422);
    expect((await post(run, GROUP, { "lachesis-lease": "x" })).text).toContain("lachesis-lease");
  });

  test("with deduplicate the contents tell it, small or large, also gzipped", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...settings, batch_size: 64, deduplicate: true });
    const large = { ...GROUP, notes: "x".repeat(3_000_000) };
    for (const body of [GROUP, { ...GROUP, notes: "another" }, large]) {
      expect((await post(run, body)).headers.get("lachesis-repeated")).toBeNull();
      expect((await post(run, body)).headers.get("lachesis-repeated")).toBe("true");
    }
    const zipped = gzipSync(JSON.stringify(GROUP));
    const request = new Request(`http://lachesis/runs/${run}/scored_data`, {
      method: "POST",
      body: zipped,
      headers: { "content-encoding": "gzip" },
    });
    const response = await app.fetch(request, OPEN, createExecutionContext());
    expect(response.headers.get("lachesis-repeated")).toBe("true");
    expect(JSON.parse((await call("GET", `/runs/${run}/status`)).text)).toMatchObject({ queue_size: 3 });
  });

  test("deduplicate is in force with the answer of a register, and no longer than the run, whatever was known before", async () => {
    const run = freshRun();
    const large = { ...GROUP, notes: "x".repeat(3_000_000) };
    const bodies = ["/scored_data", "/scored_data_list"].flatMap((path) =>
      [GROUP, large].map((body) => ({ path, body: path.endsWith("list") ? [body] : body })),
    );
    for (const deduplicate of [false, true, false]) {
      await call("POST", `/runs/${run}/register`, { ...settings, batch_size: 64, deduplicate });
      const repeated = [];
      for (const { path, body } of bodies) {
        await call("POST", `/runs/${run}${path}`, body);
        const again = await call("POST", `/runs/${run}${path}`, body);
        repeated.push(again.headers.get("lachesis-repeated") === "true");
      }
      expect(repeated).toEqual(bodies.map(() => deduplicate));
      const { queue_size: groups } = JSON.parse((await call("GET", `/runs/${run}/status`)).text);
      expect(groups).toBe(bodies.length * (deduplicate ? 1 : 2));
      await call("GET", `/runs/${run}/reset_data`);
    }
  });

  test("a full queue answers 503 with Retry-After, which stock environments obey", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...settings, max_queue_sequences: 4 });
    await post(run, GROUP);
    await post(run, GROUP);
    const refused = await post(run, GROUP);
    expect([refused.status, refused.headers.get("retry-after")]).toEqual([503, "5"]);
    expect(refused.text).toContain("6 sequences of at most 4");
  });

  test("a full disk answers 503 with Retry-After to small and large posts; batches go on", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, payload_shards: 1, keep_steps: 0 });
    await post(run, GROUP);
    // Text that doesn't shrink, until the 8 MiB of these tests' deployment are used.
    const noise = (bytes: number) => Buffer.from(crypto.getRandomValues(new Uint8Array(bytes))).toString("base64");
    let refused = await post(run, GROUP);
    for (let posts = 0; posts < 200 && refused.status === 200; posts++)
      refused = await post(run, { ...GROUP, noise: noise(65_536) });
    for (const answer of [
      refused,
      await post(run, GROUP),
      await post(run, { ...GROUP, noise: noise(65_536).repeat(24) }),
    ]) {
      expect([answer.status, answer.headers.get("retry-after")]).toEqual([503, "30"]);
      expect(answer.text).toContain("disk");
    }
    expect(JSON.parse((await call("GET", `/runs/${run}/batch`)).text)).toMatchObject({ batch: [GROUP] });
  });

  test("a batch can be read again while it is kept, and a rewind that isn't possible says from where it is", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, keep_steps: 1 });
    for (const note of ["first", "second", "third"]) {
      await post(run, { ...GROUP, note });
      await call("GET", `/runs/${run}/batch`);
    }
    expect(JSON.parse((await call("GET", `/runs/${run}/batches/3`)).text)).toMatchObject({
      batch: [{ note: "third" }],
      batch_id: 3,
      step: 3,
    });
    expect((await call("GET", `/runs/${run}/batches/9`)).status).toBe(404);
    await runDurableObjectAlarm(env.RUN.getByName(run));
    const refused = await call("POST", `/runs/${run}/register`, { ...REGISTRATION, resume_from_step: 0 });
    expect(refused.status).toBe(409);
    expect(refused.text).toContain("steps 3 to 3 are kept");
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, resume_from_step: 2 });
    expect(JSON.parse((await call("GET", `/runs/${run}/batch`)).text)).toMatchObject({ batch: [{ note: "third" }] });
  });

  test("ranks get their slices, and a query that makes no sense says what is wrong", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, settings);
    for (const note of ["a", "b"]) await post(run, { ...GROUP, note });
    const notes = [];
    for (const rank of [0, 1]) {
      const { text } = await call("GET", `/runs/${run}/batch?lease=60&trainer=t&rank=${rank}&world_size=2`);
      expect(JSON.parse(text)).toMatchObject({ batch_id: 1, rank, world_size: 2 });
      notes.push(JSON.parse(text).batch[0].note);
    }
    expect(notes).toEqual(["a", "b"]);
    for (const [query, field] of [
      ["rank=0&lease=9", "world_size"],
      ["world_size=2&lease=9", "rank"],
      ["rank=2&world_size=2&lease=9", "rank"],
      ["rank=0&world_size=2", "lease"],
      ["trainer=a%20b", "trainer"],
    ]) {
      const { status, text } = await call("GET", `/runs/${run}/batch?${query}`);
      expect([status, JSON.parse(text).detail[0].loc]).toEqual([422, ["query", field]]);
    }
    const held = await call("POST", `/runs/${run}/batches/1/ack`, { trainer: "u" });
    expect([held.status, held.text]).toEqual([
      409,
      '{"detail":"batch 1 is held by the trainer t now; whoever holds it says so with trainer or hold"}',
    ]);
  });

  test("a fork goes on from a step of another run, with the batches after it and the queue, whatever their size", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...REGISTRATION, keep_steps: 9, starting_step: 7 });
    const large = "x".repeat(2_500_000);
    for (const note of ["first", "second", large, "queued"]) await post(run, { ...GROUP, note });
    for (let step = 0; step < 3; step++) await call("GET", `/runs/${run}/batch`);
    const copy = freshRun();
    const answer = await call("POST", `/runs/${copy}/fork`, { from: run, step: 8 });
    expect(JSON.parse(answer.text)).toEqual({ status: "forked", from: run, step: 8, groups: 3, remaining: 0 });
    const notes = [];
    for (let batch = 0; batch < 3; batch++) {
      const { text, headers } = await call("GET", `/runs/${copy}/batch`);
      notes.push([headers.get("lachesis-step"), JSON.parse(text).batch[0].note]);
    }
    expect(notes).toEqual([
      ["9", "second"],
      ["10", large],
      ["11", "queued"],
    ]);
    expect(JSON.parse((await call("GET", `/runs/${run}/status`)).text)).toMatchObject({
      current_step: 10,
      queue_size: 1,
    });
    expect((await call("POST", `/runs/${copy}/fork`, { from: run })).status).toBe(409);
    expect((await call("POST", `/runs/${freshRun()}/fork`, { from: run, step: 3 })).text).toContain(
      "steps 7 to 10 can be",
    );
    expect((await call("POST", `/runs/${freshRun()}/fork`, { from: freshRun() })).status).toBe(404);
  });

  test("metrics tell what was done", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, REGISTRATION);
    await post(run, GROUP);
    await call("GET", `/runs/${run}/batch?lease=60`);
    await call("POST", `/runs/${run}/batches/1/ack`);
    const { text, headers } = await call("GET", `/runs/${run}/metrics`);
    expect(headers.get("content-type")).toContain("text/plain; version=0.0.4");
    for (const line of [
      `lachesis_step{run="${run}"} 1`,
      `lachesis_acknowledged_batches_total{run="${run}"} 1`,
      `lachesis_batch_staleness_steps_bucket{run="${run}",le="0"} 1`,
      `lachesis_group_sequences_sum{run="${run}"} 2`,
      `lachesis_stalled{run="${run}"} 0`,
    ])
      expect(text).toContain(`${line}\n`);
  });

  test("what the run's filters drop is received, and can be looked at", async () => {
    const run = freshRun();
    await call("POST", `/runs/${run}/register`, { ...settings, filters: { equal_scores: true } });
    const dropped = await post(run, { ...GROUP, scores: [1, 1] });
    expect(dropped.text).toBe('{"status":"received","filtered":"equal_scores"}');
    const { dropped: list } = JSON.parse((await call("GET", `/runs/${run}/dropped`)).text);
    expect(list).toMatchObject([{ reason: "equal_scores", sequences: 2 }]);
    const whole = await call("GET", `/runs/${run}/dropped/${list[0].group}`);
    expect(JSON.parse(whole.text)).toMatchObject({ scores: [1, 1] });
    expect((await call("GET", `/runs/${run}/dropped/99`)).status).toBe(404);
  });
});
