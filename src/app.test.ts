import { env, runInDurableObject } from "cloudflare:test";
import { gunzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { call, freshRun, GROUP, REGISTRATION, stepOf } from "./testing.ts";

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
