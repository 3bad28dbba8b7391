import { describe, expect, test } from "vitest";
import errors from "./fixtures/errors.json" with { type: "json" };
import { type InferenceOptions, MissingSecretError, openInference, RequestLimiter } from "./index.ts";
import { stubFetch } from "./testing/stub.ts";
import { FakeServer, fakeEndpoint } from "./testing.ts";

const ASK = { prompt: [1, 2, 3], n: 1, maxTokens: 16, temperature: 1 };

type Answers = Parameters<typeof stubFetch>;

/** An endpoint behind prepared answers; waits between attempts are noted instead of waited for. */
function open(answers: Answers, options: Partial<InferenceOptions> = {}, change = {}) {
  const stub = stubFetch(...answers);
  const waits: number[] = [];
  const inference = openInference(fakeEndpoint(change), {
    purpose: "training",
    secretOf: (name) => (name === "KEY" ? "the-secret" : undefined),
    fetch: stub.fetch,
    random: () => 0.5,
    wait: async (ms) => {
      waits.push(ms);
    },
    ...options,
  });
  return { inference, requests: stub.requests, waits };
}

function withRetryAfter(status: number, value: string): Response {
  return new Response("busy", { status, headers: { "retry-after": value } });
}

describe("errors", () => {
  test.each(errors)("$status: $why", async ({ status, body, reason, endpointFault, requests: sent }) => {
    const answer = typeof body === "string" ? new Response(body, { status }) : Response.json(body, { status });
    const { inference, requests } = open([answer], {}, { secret: "KEY" });
    const error = await inference.complete(ASK).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ name: "InferenceError", reason, status, endpointFault });
    expect(String(error)).toContain("http://inference.test/v1/completions answered");
    expect(String(error)).not.toContain("the-secret");
    expect(requests).toHaveLength(sent);
  });

  test.each([
    ["a body cut short", () => new Response('{"choices":[{"text":"a'), "no JSON"],
    ["an empty body", () => new Response(""), "an empty body"],
    ["a page", () => new Response("<html>"), "no JSON"],
    ["NaN", () => new Response('{"choices":[{"text":"a","logprobs":{"token_logprobs":[NaN]}}]}'), "no JSON"],
  ])("%s is unusable, and not asked for again", async (_, answer, says) => {
    const { inference, requests } = open([answer()]);
    const error = await inference.complete(ASK).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "response", message: expect.stringContaining(says) });
    expect(String(error)).not.toMatch(/choices|<html>/);
    expect(requests).toHaveLength(1);
  });

  test("a redirect is named, not followed", async () => {
    const { inference, requests } = open([
      new Response(null, { status: 307, headers: { location: "https://other/" } }),
    ]);
    await expect(inference.complete(ASK)).rejects.toThrow("a redirect to https://other/");
    expect(requests.map(({ redirect }) => redirect)).toEqual(["manual"]);
  });

  test("a fetch that quotes the key doesn't leak it", async () => {
    const { inference } = open(
      [new TypeError('"Bearer the-secret" is an invalid header value')],
      {},
      { secret: "KEY" },
    );
    const error = await inference.complete(ASK).catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ reason: "unreachable", endpointFault: true, status: null });
    expect(JSON.stringify([String(error), error])).not.toContain("the-secret");
  });

  test.each(["hang", "hanging body"] as const)("a server that is stuck (%s) times out, once", async (stuck) => {
    const { inference, requests } = open([stuck], { timeoutMs: 20 });
    await expect(inference.complete(ASK)).rejects.toMatchObject({ reason: "timeout", endpointFault: true });
    expect(requests).toHaveLength(1);
  });

  test("the caller can give up, and that is nobody's fault", async () => {
    const giveUp = new AbortController();
    const { inference } = open(["hang"], { signal: giveUp.signal });
    const asked = inference.complete(ASK);
    giveUp.abort();
    await expect(asked).rejects.toMatchObject({ reason: "aborted", endpointFault: false });
  });
});

describe("retries", () => {
  const good = new FakeServer();
  const goodAnswer = () =>
    good.handle(
      new Request("http://x/v1/completions", { method: "POST", body: JSON.stringify({ prompt: [1, 2, 3] }) }),
    );

  test.each([
    ["5xx", [new Response("", { status: 503 }), new Response("", { status: 500 })], [500, 1000]],
    ["no connection", [new TypeError("fetch failed")], [500]],
    ["429", [new Response("", { status: 429 })], [500]],
    ["Retry-After in seconds", [withRetryAfter(429, "7")], [7875]],
    ["Retry-After of a 503", [withRetryAfter(503, "2")], [2250]],
    ["Retry-After in the past", [withRetryAfter(429, "Wed, 21 Oct 2015 07:28:00 GMT")], [0]],
    ["Retry-After that can't be read", [withRetryAfter(429, "soon")], [500]],
  ])("after %s", async (_, failures, expected) => {
    const { inference, waits, requests } = open([...failures, await goodAnswer()]);
    expect(await inference.complete(ASK)).toHaveLength(1);
    expect(waits).toEqual(expected);
    expect(requests).toHaveLength(failures.length + 1);
  });

  test.each([
    [0, 8_000],
    [1, 10_000],
  ])("never sooner than asked for (chance %d)", async (chance, expected) => {
    const { inference, waits } = open([withRetryAfter(429, "8"), await goodAnswer()], { random: () => chance });
    expect(await inference.complete(ASK)).toHaveLength(1);
    expect(waits).toEqual([expected]);
  });

  test.each([
    ["429", withRetryAfter(429, "61")],
    ["503", withRetryAfter(503, "3600")],
  ])("not when a %s asks to wait over a minute", async (_, answer) => {
    const { inference, waits } = open([answer]);
    await expect(inference.complete(ASK)).rejects.toMatchObject({ reason: "overloaded" });
    expect(waits).toEqual([]);
  });

  test("backoff never exceeds 10 s", async () => {
    const { inference, waits } = open([new Response("", { status: 500 })], { attempts: 8, random: () => 1 });
    await expect(inference.complete(ASK)).rejects.toMatchObject({ status: 500 });
    expect(waits).toEqual([1000, 2000, 4000, 8000, 10_000, 10_000, 10_000]);
  });

  test("no slot is held while waiting", async () => {
    const limiter = new RequestLimiter({ training: 1 });
    const { inference } = open([new Response("", { status: 500 })], {
      limiter,
      wait: async () => (await limiter.acquire("training")).release(),
    });
    await expect(inference.complete(ASK)).rejects.toMatchObject({ status: 500 });
  });
});

describe("secrets", () => {
  test("go into the header", async () => {
    const { inference, requests } = open([new Response("", { status: 400 })], {}, { secret: "KEY" });
    await inference.complete(ASK).catch(() => {});
    expect(requests[0]?.headers.get("authorization")).toBe("Bearer the-secret");
  });

  test("one that isn't set is named before any request", () => {
    expect(() => open([], {}, { secret: "OTHER" })).toThrow(MissingSecretError);
    expect(() => open([], {}, { secret: "OTHER" })).toThrow("npx wrangler secret put OTHER");
  });
});

test.each([
  ["http://h:8000", "http://h:8000/v1/completions"],
  ["http://h:8000/", "http://h:8000/v1/completions"],
  ["http://h:8000/v1", "http://h:8000/v1/completions"],
  ["http://h:8000/v1/", "http://h:8000/v1/completions"],
  ["https://h/proxy/v1/", "https://h/proxy/v1/completions"],
])("the url %s", async (url, sent) => {
  const { inference, requests } = open([new Response("", { status: 400 })], {}, { url });
  await inference.complete(ASK).catch(() => {});
  expect(requests.map((request) => request.url)).toEqual([sent]);
});

test.each([
  ["nonsense", "no address"],
  ["ftp://h/", "http:// or https://"],
  ["http://user:word@h/", "name a secret instead"],
])("the url %s is refused", (url, says) => {
  expect(() => open([], {}, { url })).toThrow(says);
  expect(() => open([], {}, { url: "http://user:word@h/" })).not.toThrow("word@");
});

describe("many completions", () => {
  const ask = (server: FakeServer, n: number, seed?: number) =>
    openInference(fakeEndpoint(), { purpose: "training", secretOf: () => undefined, fetch: server.fetch }).complete({
      ...ASK,
      n,
      seed,
    });

  test("are split into calls of at most 8, in order", async () => {
    const server = new FakeServer();
    const completions = await ask(server, 19);
    expect(server.requests.map(({ body }) => body)).toMatchObject([{ n: 8 }, { n: 8 }, { n: 3 }]);
    expect(completions.map(({ tokens }) => tokens)).toEqual(server.sampled.map(({ tokens }) => tokens));
  });

  test("have a seed for each call, the same every time", async () => {
    const [first, second] = [new FakeServer(), new FakeServer()];
    const completions = await ask(first, 24, 7);
    expect(await ask(second, 24, 7)).toEqual(completions);
    expect(first.requests[0]?.body).toMatchObject({ seed: 7 });
    expect(new Set(completions.map(({ text }) => text)).size).toBe(24);
  });

  test("fail together: the other calls are over when it throws", async () => {
    const server = new FakeServer({
      fault: (_, request) => (request === 1 ? new Response("no", { status: 400 }) : "hang"),
    });
    const limiter = new RequestLimiter({ training: 3 });
    const inference = openInference(fakeEndpoint(), {
      purpose: "training",
      secretOf: () => undefined,
      fetch: server.fetch,
      limiter,
    });
    await expect(inference.complete({ ...ASK, n: 24 })).rejects.toMatchObject({ reason: "status", status: 400 });
    // All slots are free again.
    await Promise.all([1, 2, 3].map(() => limiter.acquire("training")));
  });
});

test.each([
  [{ n: 0 }, "n must"],
  [{ n: 1.5 }, "n must"],
  [{ maxTokens: 0 }, "maxTokens must"],
  [{ temperature: -1 }, "temperature must"],
  [{ temperature: Number.NaN }, "temperature must"],
  [{ prompt: [] }, "no token"],
])("%j is refused", async (change, says) => {
  const { inference, requests } = open(["hang"]);
  await expect(inference.complete({ ...ASK, ...change })).rejects.toThrow(says);
  expect(requests).toEqual([]);
});

describe("health", () => {
  test.each([
    ["vllm", new Response(null, { status: 200 }), true, "http://inference.test/health"],
    ["sglang", new Response(null, { status: 503 }), false, "http://inference.test/health"],
    ["openai", Response.json({ data: [] }), true, "http://inference.test/v1/models"],
    ["vllm", new TypeError("fetch failed"), false, "http://inference.test/health"],
    ["vllm", "hang" as const, false, "http://inference.test/health"],
  ])("%s", async (backend, answer, healthy, url) => {
    const { inference, requests } = open([answer], { timeoutMs: 20 }, { backend });
    expect(await inference.health()).toBe(healthy);
    expect(requests.map((request) => request.url)).toEqual([url]);
  });
});
