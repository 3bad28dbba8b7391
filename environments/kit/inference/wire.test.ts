import { describe, expect, test } from "vitest";
import openai from "./fixtures/openai.json" with { type: "json" };
import sglang from "./fixtures/sglang.json" with { type: "json" };
import vllm from "./fixtures/vllm.json" with { type: "json" };
import unusableVllm from "./fixtures/vllm-unusable.json" with { type: "json" };
import { type Backend, type InferenceOptions, openInference, type Renderer } from "./index.ts";
import { stubFetch } from "./testing/stub.ts";
import { fakeEndpoint } from "./testing.ts";

const ASK = { prompt: [1, 2, 3], n: 1, maxTokens: 16, temperature: 0.7 };

function open(backend: Backend, body: unknown, options: Partial<InferenceOptions> = {}) {
  const stub = stubFetch(Response.json(body));
  const inference = openInference(fakeEndpoint({ backend }), {
    purpose: "training",
    secretOf: () => undefined,
    fetch: stub.fetch,
    ...options,
  });
  return { inference, requests: stub.requests };
}

/** One id a letter. */
const letters: Renderer = {
  render: async () => [1],
  encode: async (text) => [...text].map((letter) => letter.charCodeAt(0)),
  decode: async (ids) => String.fromCharCode(...ids),
};

describe("vLLM", () => {
  test.each([
    ["a current server", vllm.current, 1, [220, 2983, 151645], [-0.0135, -0.25, -0.0000012], "stop", null],
    ["ids that only the logprobs name", vllm.idsAsNamesOnly, 1, [6023, 151645], [-0.5, -0.125], "stop", null],
    [
      "policy versions",
      vllm.withVersions,
      1,
      [5, 6, 7],
      [-1, -2, -3],
      "stop",
      [
        [4, 1],
        [5, 2],
      ],
    ],
    ["logprobs beyond the ids, named", vllm.moreLogprobsNamed, 1, [5, 6], [-1, -2], "stop", null],
  ])("%s", async (_, body, n, tokens, logprobs, finishReason, versions) => {
    const prompt = [1, 2, 3];
    const [completion, ...others] = await open("vllm", body).inference.complete({ ...ASK, n });
    expect(completion).toMatchObject({ tokens, logprobs, finishReason, versions, prompt, exact: true });
    expect(others).toEqual([]);
  });

  test("several completions, in order", async () => {
    const completions = await open("vllm", vllm.several).inference.complete({ ...ASK, n: 2 });
    expect(completions.map(({ tokens, finishReason }) => [tokens, finishReason])).toEqual([
      [[64], "length"],
      [[151645], "abort"],
    ]);
  });

  test("is asked with ids, for ids and logprobs", async () => {
    const { inference, requests } = open("vllm", vllm.current);
    const limits = { topP: 0.9, stop: ["\n"], stopTokenIds: [7], seed: 5, keepStop: true, skipSpecialTokens: false };
    await inference.complete({ ...ASK, ...limits });
    expect(requests).toMatchObject([
      {
        url: "http://inference.test/v1/completions",
        body: {
          model: "toy",
          prompt: [1, 2, 3],
          n: 1,
          max_tokens: 16,
          temperature: 0.7,
          top_p: 0.9,
          stop: ["\n"],
          stop_token_ids: [7],
          seed: 5,
          include_stop_str_in_output: true,
          skip_special_tokens: false,
          logprobs: 0,
          return_token_ids: true,
          return_tokens_as_token_ids: true,
        },
      },
    ]);
  });

  test.each(unusableVllm)("refuses $why", async ({ says, choices }) => {
    const { inference, requests } = open("vllm", { choices });
    await expect(inference.complete(ASK)).rejects.toMatchObject({
      reason: "response",
      endpointFault: true,
      message: expect.stringContaining(says),
    });
    expect(requests).toHaveLength(1);
  });

  test("refuses fewer completions than it asked for", async () => {
    const { inference } = open("vllm", vllm.several);
    await expect(inference.complete({ ...ASK, n: 3 })).rejects.toThrow("2 completions instead of 3");
  });
});

describe("SGLang", () => {
  test.each([
    ["one completion", sglang.single, 1, [[[12366, 128009], [-0.02, -0.004], "stop", [[17, 2]]]]],
    [
      "several",
      sglang.several,
      2,
      [
        [[64], [-1.5], "length", [[3, 1]]],
        [[], [], "abort", null],
      ],
    ],
    ["an old server", sglang.old, 1, [[[2], [-0.25], "stop", null]]],
    ["logprobs beyond the ids", sglang.extraLogprobs, 1, [[[7], [-0.25], "stop", null]]],
  ])("%s", async (_, body, n, expected) => {
    const completions = await open("sglang", body).inference.complete({ ...ASK, n });
    expect(
      completions.map(({ tokens, logprobs, finishReason, versions }) => [tokens, logprobs, finishReason, versions]),
    ).toEqual(expected);
  });

  test("is asked with ids", async () => {
    const { inference, requests } = open("sglang", sglang.single);
    await inference.complete({ ...ASK, seed: 9, stop: ["x"], keepStop: true });
    expect(requests).toMatchObject([
      {
        url: "http://inference.test/generate",
        body: {
          input_ids: [1, 2, 3],
          sampling_params: {
            n: 1,
            max_new_tokens: 16,
            temperature: 0.7,
            sampling_seed: 9,
            stop: ["x"],
            no_stop_trim: true,
          },
          return_logprob: true,
          logprob_start_len: -1,
        },
      },
    ]);
  });

  test.each(sglang.unusable)("refuses what $says", async ({ says, body }) => {
    await expect(open("sglang", body).inference.complete(ASK)).rejects.toMatchObject({
      reason: "response",
      message: expect.stringContaining(says),
    });
  });
});

describe("plain OpenAI", () => {
  test("gives nothing to train on, and says what does", async () => {
    const { inference, requests } = open("openai", openai.text);
    const refused = {
      reason: "untrainable",
      message: expect.stringMatching(/no token ids.*"vllm" or "sglang".*tokenizer/s),
    };
    await expect(inference.complete(ASK)).rejects.toMatchObject(refused);
    await expect(inference.tokenize("a")).rejects.toMatchObject(refused);
    await expect(inference.detokenize([1])).rejects.toMatchObject(refused);
    expect(requests).toEqual([]);
  });

  test("with a tokenizer, completes text and marks it", async () => {
    const { inference, requests } = open("openai", openai.text, { tokenizer: letters });
    const completions = await inference.complete({ ...ASK, prompt: [104, 105] });
    expect(completions).toEqual([
      {
        text: "abc",
        tokens: [97, 98, 99],
        logprobs: [1, 1, 1],
        finishReason: "length",
        exact: false,
        versions: null,
        prompt: [104, 105],
      },
    ]);
    expect(requests).toMatchObject([{ url: "http://inference.test/v1/completions", body: { prompt: "hi" } }]);
  });

  test("with a tokenizer and messages, chats", async () => {
    const { inference, requests } = open("openai", openai.chat, { tokenizer: letters });
    const messages = [{ role: "user" as const, content: "hi" }];
    const [completion] = await inference.complete({ ...ASK, messages });
    expect(completion).toMatchObject({ text: "Hello!", exact: false, finishReason: "stop" });
    expect(requests).toMatchObject([{ url: "http://inference.test/v1/chat/completions", body: { messages } }]);
  });

  test("tool calls that were taken out of the text can't be tokens", async () => {
    const { inference } = open("openai", openai.toolCalls, { tokenizer: letters });
    const messages = [{ role: "user" as const, content: "hi" }];
    await expect(inference.complete({ ...ASK, messages })).rejects.toMatchObject({ reason: "untrainable" });
  });
});

describe("chat", () => {
  const chat = { messages: [{ role: "user" as const, content: "hi" }], n: 1, maxTokens: 9, temperature: 0 };

  test.each([
    ["OpenAI's answer", "openai", openai.chat, { text: "Hello!", tokens: null, logprobs: null, finishReason: "stop" }],
    [
      "tool calls",
      "openai",
      openai.toolCalls,
      { text: "", finishReason: "tool_calls", toolCalls: [{ id: "call_abc123", function: { name: "weather" } }] },
    ],
    [
      "vLLM's answer",
      "vllm",
      openai.vllmChat,
      { text: "yes", reasoning: "it is", tokens: [9693, 151645], logprobs: [-0.5, -0.1] },
    ],
    ["ids that a parser dropped", "vllm", openai.vllmChatDroppedIds, { text: "yes", tokens: null, logprobs: null }],
  ] as const)("%s", async (_, backend, body, expected) => {
    expect(await open(backend, body).inference.chat(chat)).toMatchObject([expected]);
  });

  test.each([
    ["vllm", "http://inference.test", { max_tokens: 9, logprobs: true, return_token_ids: true }, []],
    ["openai", "http://inference.test", { max_tokens: 9 }, ["logprobs", "return_token_ids", "max_completion_tokens"]],
    ["openai", "https://api.openai.com/v1", { max_completion_tokens: 9 }, ["max_tokens", "logprobs"]],
  ] as const)("asks %s at %s", async (backend, url, has, hasNot) => {
    const stub = stubFetch(Response.json(openai.chat));
    const options = { purpose: "evaluation", secretOf: () => undefined, fetch: stub.fetch } as const;
    await openInference(fakeEndpoint({ backend, url }), options).chat(chat);
    const body = stub.requests[0]?.body;
    expect(body).toMatchObject({ model: "toy", messages: chat.messages, n: 1, temperature: 0, ...has });
    for (const name of hasNot) expect(body).not.toHaveProperty(name);
  });
});

describe("tokenize and detokenize", () => {
  test.each([
    ["a text", "hi", { prompt: "hi", add_special_tokens: false }],
    [
      "a chat",
      { messages: [{ role: "user" as const, content: "hi" }] },
      { messages: [{ role: "user", content: "hi" }], add_generation_prompt: true, add_special_tokens: false },
    ],
  ])("%s", async (_, prompt, sent) => {
    const { inference, requests } = open("vllm", { tokens: [5, 6], count: 2, max_model_len: 4096 });
    expect(await inference.tokenize(prompt)).toEqual([5, 6]);
    expect(requests).toMatchObject([{ url: "http://inference.test/tokenize", body: { model: "toy", ...sent } }]);
  });

  test.each([
    ["vllm", { prompt: "hi" }],
    ["sglang", { text: "hi" }],
  ] as const)("%s's text", async (backend, body) => {
    expect(await open(backend, body).inference.detokenize([5])).toBe("hi");
  });

  test.each([
    ["tokens that are fewer than counted", { tokens: [5], count: 2 }],
    ["no tokens", { count: 2 }],
  ])("refuses %s", async (_, body) => {
    await expect(open("vllm", body).inference.tokenize("hi")).rejects.toMatchObject({ reason: "response" });
  });
});
