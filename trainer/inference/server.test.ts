import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { chatIds, createPolicy, decode, encode, type Policy, SPECIAL_ID, tokenText } from "../policy/index.ts";
import { type InferenceServer, startInferenceServer } from "./server.ts";

const MAX_LENGTH = 2048;
const small = { width: 8, heads: 2, hidden: 8, maxLength: MAX_LENGTH };

let policy: Policy;
let server: InferenceServer;

beforeAll(async () => {
  policy = createPolicy({ seed: 3, config: small, pretraining: false });
  server = await startInferenceServer({ policy, model: "tiny" });
});

afterAll(() => server.close());

async function post(path: string, body: unknown): Promise<{ status: number; body: unknown }> {
  const text = typeof body === "string" ? body : JSON.stringify(body);
  const response = await fetch(`${server.url}${path}`, { method: "POST", body: text });
  return { status: response.status, body: await response.json() };
}

const completion = z.object({
  choices: z.array(
    z.object({
      index: z.int(),
      text: z.string(),
      finish_reason: z.enum(["stop", "length"]),
      token_ids: z.array(z.int()),
      prompt_token_ids: z.array(z.int()),
      logprobs: z.object({ tokens: z.array(z.string()), token_logprobs: z.array(z.number()) }),
      policy_versions: z.array(z.tuple([z.int(), z.int()])),
    }),
  ),
  usage: z.object({ prompt_tokens: z.int(), completion_tokens: z.int(), total_tokens: z.int() }),
  model: z.literal("tiny"),
});

async function complete(request: object) {
  const body = { model: "tiny", logprobs: 0, return_token_ids: true, ...request };
  return completion.parse((await post("/v1/completions", body)).body);
}

describe("completions", () => {
  test("of ids: ids, logprobs, texts and counts belong together", async () => {
    const prompt = [SPECIAL_ID.beginning, ...encode("How many?")];
    const { choices, usage } = await complete({ prompt, n: 3, max_tokens: 6, temperature: 1.2 });
    expect(choices.map(({ index }) => index)).toEqual([0, 1, 2]);
    for (const { token_ids, prompt_token_ids, logprobs, text, policy_versions } of choices) {
      expect(prompt_token_ids).toEqual(prompt);
      expect(logprobs.token_logprobs).toHaveLength(token_ids.length);
      expect(logprobs.token_logprobs.every((logprob) => logprob <= 0)).toBe(true);
      expect(logprobs.tokens).toEqual(token_ids.map(tokenText));
      expect(text).toBe(decode(token_ids, { skipSpecial: true }));
      expect(policy_versions).toEqual([[0, token_ids.length]]);
    }
    const sampled = choices.reduce((sum, { token_ids }) => sum + token_ids.length, 0);
    const counts = { prompt_tokens: prompt.length, completion_tokens: sampled };
    expect(usage).toEqual({ ...counts, total_tokens: prompt.length + sampled });
  });

  test.each([
    { prompt: "Hi", expected: [[SPECIAL_ID.beginning, ...encode("Hi")]] },
    { prompt: "<|user|>2", expected: [[SPECIAL_ID.beginning, SPECIAL_ID.user, ...encode("2")]] },
    {
      prompt: ["a", "b"],
      expected: [
        [SPECIAL_ID.beginning, ...encode("a")],
        [SPECIAL_ID.beginning, ...encode("b")],
      ],
    },
    { prompt: [[9], [8, 7]], expected: [[9], [8, 7]] },
  ])("of $prompt", async ({ prompt, expected }) => {
    const { choices } = await complete({ prompt, max_tokens: 1 });
    expect(choices.map(({ prompt_token_ids }) => prompt_token_ids)).toEqual(expected);
  });

  test("end with a stop token, which is among the ids and not in the text", async () => {
    const every = [...Array(380).keys()];
    const { choices } = await complete({ prompt: [5], max_tokens: 5, stop_token_ids: every, n: 4 });
    for (const choice of choices) {
      expect(choice.finish_reason).toBe("stop");
      expect(choice.token_ids).toHaveLength(1);
    }
  });

  test("a seed repeats them; without one they differ", async () => {
    const request = { prompt: [5, 6], max_tokens: 12 };
    const ids = async (extra: object) => (await complete({ ...request, ...extra })).choices[0]?.token_ids;
    expect(await ids({ seed: 9 })).toEqual(await ids({ seed: 9 }));
    expect(await ids({})).not.toEqual(await ids({}));
  });

  test("leave out what wasn't asked for", async () => {
    const { body } = await post("/v1/completions", { prompt: [5], max_tokens: 2 });
    const { choices } = z.object({ choices: z.array(z.looseObject({})) }).parse(body);
    expect(choices[0]).not.toHaveProperty("token_ids");
    expect(choices[0]).toHaveProperty("logprobs", null);
  });

  test("weights that land in the middle of one show in its version segments", async () => {
    const before = policy.version;
    const body = { prompt: [5], max_tokens: 1500, n: 8, return_token_ids: true, logprobs: 0 };
    let running = true;
    const long = complete(body).finally(() => {
      running = false;
    });
    // A second request is answered while the first runs, so the weights can change meanwhile too.
    await complete({ prompt: [5], max_tokens: 1 });
    expect(running).toBe(true);
    policy.advance();
    const segments = (await long).choices.map(({ policy_versions }) => policy_versions);
    expect(segments.some((versions) => versions.length === 2)).toBe(true);
    for (const [first, second] of segments.filter((versions) => versions.length === 2)) {
      expect([first?.[0], second?.[0]]).toEqual([before, before + 1]);
    }
  });
});

test("chat completions render the conversation and give what completions of its ids give", async () => {
  const messages = [{ role: "user" as const, content: "How many?" }];
  const prompt = chatIds(messages, { addGenerationPrompt: true });
  const settings = { max_tokens: 7, n: 2, seed: 4, return_token_ids: true };
  const { body } = await post("/v1/chat/completions", { ...settings, messages, logprobs: true });
  const { choices } = await complete({ ...settings, prompt });
  expect(body).toMatchObject({
    object: "chat.completion",
    prompt_token_ids: prompt,
    choices: choices.map(({ text, token_ids, logprobs, finish_reason }) => ({
      message: { role: "assistant", content: text },
      finish_reason,
      token_ids,
      logprobs: { content: logprobs.token_logprobs.map((logprob) => ({ logprob })) },
    })),
  });
});

describe("tokens", () => {
  const messages = [{ role: "user", content: [{ type: "text", text: "2?" }] }];
  const rendered = chatIds([{ role: "user", content: "2?" }]);
  test.each([
    { request: { prompt: "2?" }, tokens: [SPECIAL_ID.beginning, ...encode("2?")] },
    { request: { prompt: "2?", add_special_tokens: false }, tokens: encode("2?") },
    { request: { messages, add_generation_prompt: false }, tokens: rendered },
    { request: { messages }, tokens: [...rendered, SPECIAL_ID.assistant] },
  ])("of $request", async ({ request, tokens }) => {
    const { body } = await post("/tokenize", request);
    expect(body).toMatchObject({ tokens, count: tokens.length, max_model_len: MAX_LENGTH });
  });

  test("and back", async () => {
    expect((await post("/detokenize", { tokens: rendered })).body).toEqual({ prompt: "<|begin|><|user|>2?<|end|>" });
  });
});

test.each([
  { path: "/health", expected: { status: "ok" } },
  { path: "/version", expected: { version: expect.any(String) } },
  { path: "/v1/models", expected: { data: [{ id: "tiny", max_model_len: MAX_LENGTH }] } },
])("GET $path", async ({ path, expected }) => {
  expect(await (await fetch(`${server.url}${path}`)).json()).toMatchObject(expected);
});

describe("errors in OpenAI's shape", () => {
  const long = Array.from({ length: MAX_LENGTH }, () => 5);
  test.each([
    {
      path: "/v1/completions",
      request: { prompt: long, max_tokens: 8 },
      status: 400,
      says: /maximum context length is 2048/,
    },
    { path: "/v1/completions", request: { prompt: [5], max_tokens: 2048 }, status: 400, says: /2049 tokens/ },
    { path: "/v1/completions", request: { prompt: [9999] }, status: 400, says: /no token 9999/ },
    { path: "/v1/completions", request: { prompt: [] }, status: 400, says: /prompt/ },
    { path: "/v1/completions", request: { prompt: [5], temperature: -1 }, status: 400, says: /temperature/ },
    { path: "/v1/completions", request: { prompt: [5], top_p: 0.5 }, status: 400, says: /top_p/ },
    { path: "/v1/completions", request: { prompt: [5], stop: "x" }, status: 400, says: /stop/ },
    { path: "/v1/completions", request: { prompt: [5], stream: true }, status: 400, says: /stream/ },
    { path: "/v1/completions", request: "{", status: 400, says: /not JSON/ },
    { path: "/v1/chat/completions", request: { messages: [] }, status: 400, says: /messages/ },
    { path: "/v1/chat/completions", request: { messages: [{ role: "x" }] }, status: 400, says: /role/ },
    { path: "/detokenize", request: { tokens: [9999] }, status: 400, says: /no token 9999/ },
    { path: "/nowhere", request: {}, status: 404, says: /no POST \/nowhere/ },
  ])("$path $says", async ({ path, request, status, says }) => {
    const answer = await post(path, request);
    expect(answer.status).toBe(status);
    const error = { message: expect.stringMatching(says), type: expect.any(String), code: status };
    expect(answer.body).toMatchObject({ error });
  });
});

test("closing ends a running completion", async () => {
  const closing = await startInferenceServer({ policy });
  const request = { method: "POST", body: JSON.stringify({ prompt: [5], max_tokens: 2000, n: 64 }) };
  const running = fetch(`${closing.url}/v1/completions`, request);
  const refused = expect(running).rejects.toThrow();
  await fetch(`${closing.url}/health`);
  await closing.close();
  await refused;
});
