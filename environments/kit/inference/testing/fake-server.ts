import { z } from "zod";
import type { FinishReason, VersionSegment } from "../completion.ts";
import type { Endpoint } from "../endpoint.ts";
import type { Message } from "../messages.ts";
import type { Fetch } from "../transport.ts";
import { seededRandom } from "./random.ts";
import { decode, END, encode, render, type ToyTemplate } from "./toy-tokenizer.ts";

/** One completion as it was sampled: what has to arrive, unchanged, in a batch. */
export interface Sampled {
  readonly prompt: readonly number[];
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
  readonly versions: readonly VersionSegment[];
  readonly finishReason: FinishReason;
}

/** What a scripted answer may look at. */
export interface Asked {
  /** The prompt's text, special tokens included. */
  readonly prompt: string;
  /** Which of the completions of its call. */
  readonly index: number;
  readonly seed: number;
}

export interface FakeServerOptions {
  readonly seed?: number;
  readonly template?: ToyTemplate;
  /** The text of an answer; null samples characters at random. Its end is sampled too unless it is cut by length. */
  readonly answer?: (asked: Asked) => string | null;
  /** Breaks a request: an answer instead of the real one, or "hang" for none at all; null for none of it. */
  readonly fault?: (path: string, request: number) => Response | "hang" | null;
  /** Whether answers tell policy versions; default true. */
  readonly tellVersions?: boolean;
  /** Calls back after each token, so that a test can change the version in the middle of a completion. */
  readonly onToken?: () => void;
}

const sampling = z.object({
  n: z.int().default(1),
  max_tokens: z.int().default(16),
  seed: z.int().optional(),
  stop: z.array(z.string()).default([]),
  include_stop_str_in_output: z.boolean().default(false),
  skip_special_tokens: z.boolean().default(true),
});
type Parameters = z.infer<typeof sampling>;
const completionBody = sampling.extend({ prompt: z.union([z.string(), z.array(z.int())]) });

const chatMessage = z.custom<Message>((value) => typeof value === "object" && value !== null && "role" in value);
const chatPrompt = z.looseObject({
  messages: z.array(chatMessage),
  tools: z.array(z.unknown()).default([]),
  add_generation_prompt: z.boolean().default(true),
});
const tokenizeBody = z.union([chatPrompt, z.looseObject({ prompt: z.string() })]);

/**
 * An inference server in memory that speaks vLLM's wire. It samples ids and logprobs from a seed and remembers them, so that
 * tests can compare what was sampled with what lands in batches.
 */
export class FakeServer {
  /** The version that answers from now on. */
  version = 0;
  /** Everything that was sampled, in order. */
  readonly sampled: Sampled[] = [];
  /** Path and body of every request, in order. */
  readonly requests: { readonly path: string; readonly body: unknown }[] = [];
  readonly #options: FakeServerOptions;

  constructor(options: FakeServerOptions = {}) {
    this.#options = options;
  }

  /** For `openInference`: no socket in between. A request that hangs ends with its signal. */
  readonly fetch: Fetch = (url, init) => this.handle(new Request(url, init));

  /** For any HTTP server. */
  async handle(request: Request): Promise<Response> {
    const path = new URL(request.url).pathname;
    const body: unknown = request.method === "GET" ? null : await request.json();
    this.requests.push({ path, body });
    const fault = this.#options.fault?.(path, this.requests.length - 1) ?? null;
    if (fault === "hang") return untilAborted(request.signal);
    if (fault !== null) return fault;
    switch (path) {
      case "/health":
        return new Response(null, { status: 200 });
      case "/v1/models":
        return Response.json({ object: "list", data: [{ id: "toy", object: "model" }] });
      case "/v1/completions":
        return Response.json(this.#completions(completionBody.parse(body)));
      case "/v1/chat/completions":
        return Response.json(this.#chat(chatPrompt.parse(body), sampling.parse(body)));
      case "/tokenize":
        return Response.json(this.#tokenize(tokenizeBody.parse(body)));
      case "/detokenize":
        return Response.json({ prompt: decode(z.object({ tokens: z.array(z.int()) }).parse(body).tokens, false) });
      default:
        return Response.json({ error: { message: `no route ${path}`, code: 404 } }, { status: 404 });
    }
  }

  #completions({ prompt, ...parameters }: z.infer<typeof completionBody>): unknown {
    const ids = typeof prompt === "string" ? encode(prompt) : prompt;
    const choices = this.#sampleAll(ids, parameters).map(
      ({ text, tokens, logprobs, versions, finishReason }, index) => ({
        index,
        text,
        finish_reason: finishReason,
        stop_reason: null,
        token_ids: tokens,
        prompt_token_ids: ids,
        prompt_logprobs: null,
        logprobs: {
          text_offset: [],
          tokens: tokens.map((id) => `token_id:${id}`),
          token_logprobs: logprobs,
          top_logprobs: [],
        },
        ...(this.#options.tellVersions === false ? {} : { policy_versions: versions }),
      }),
    );
    return { id: `cmpl-${this.requests.length}`, object: "text_completion", created: 0, model: "toy", choices };
  }

  #chat({ messages, tools }: z.infer<typeof chatPrompt>, parameters: Parameters): unknown {
    const prompt = encode(render(messages, this.#template, { tools, generationPrompt: true }));
    const choices = this.#sampleAll(prompt, parameters).map(({ text, tokens, logprobs, finishReason }, index) => ({
      index,
      message: { role: "assistant", content: text },
      finish_reason: finishReason,
      token_ids: tokens,
      logprobs: { content: tokens.map((id, at) => ({ token: `token_id:${id}`, logprob: logprobs[at], bytes: null })) },
    }));
    return { id: `chatcmpl-${this.requests.length}`, object: "chat.completion", created: 0, model: "toy", choices };
  }

  #tokenize(body: z.infer<typeof tokenizeBody>): unknown {
    const { tools, add_generation_prompt: generationPrompt } = chatPrompt.partial().parse(body);
    const text =
      "prompt" in body && typeof body.prompt === "string"
        ? body.prompt
        : render(chatPrompt.parse(body).messages, this.#template, {
            tools: tools ?? [],
            generationPrompt: generationPrompt ?? true,
          });
    const tokens = encode(text);
    return { tokens, count: tokens.length, max_model_len: 1_048_576 };
  }

  get #template(): ToyTemplate {
    return this.#options.template ?? "append";
  }

  #sampleAll(prompt: readonly number[], parameters: Parameters): (Sampled & { text: string })[] {
    // Without a seed of the request's own every request is another draw, but the same in every run of the test.
    const seed = parameters.seed ?? (this.#options.seed ?? 1) * 1_000_003 + this.requests.length;
    return Array.from({ length: parameters.n }, (_, index) => this.#sample(prompt, parameters, index, seed + index));
  }

  #sample(prompt: readonly number[], parameters: Parameters, index: number, seed: number): Sampled & { text: string } {
    const random = seededRandom(seed);
    const scripted = this.#options.answer?.({ prompt: decode(prompt, false), index, seed }) ?? randomText(random);
    const { tokens, finishReason, stopped } = cut([...encode(scripted), END], parameters);
    const versions: [number, number][] = [];
    const logprobs = tokens.map(() => {
      const last = versions.at(-1);
      if (last?.[0] === this.version) last[1]++;
      else versions.push([this.version, 1]);
      this.#options.onToken?.();
      return Math.log(1 - random());
    });
    const sampled: Sampled = { prompt: [...prompt], tokens, logprobs, versions, finishReason };
    this.sampled.push(sampled);
    const text = decode(tokens, parameters.skip_special_tokens);
    return {
      ...sampled,
      text: parameters.include_stop_str_in_output ? text : text.slice(0, text.length - stopped.length),
    };
  }
}

/** Ends an answer at a stop string, or at the most tokens allowed. */
function cut(wanted: readonly number[], { stop, max_tokens }: Parameters) {
  for (let length = 1; length <= Math.min(max_tokens, wanted.length); length++) {
    const tokens = wanted.slice(0, length);
    const stopped = stop.find((text) => decode(tokens, true).endsWith(text)) ?? "";
    if (stopped !== "" || length === wanted.length) return { tokens, finishReason: "stop" as const, stopped };
  }
  return { tokens: wanted.slice(0, max_tokens), finishReason: "length" as const, stopped: "" };
}

const LETTERS = "abcdefghijklmnopqrstuvwxyz .";

/** Some letters, half of the time with thoughts before them. */
function randomText(random: () => number): string {
  const letters = (most: number) =>
    Array.from({ length: 1 + Math.floor(random() * most) }, () => LETTERS[Math.floor(random() * LETTERS.length)]).join(
      "",
    );
  return random() < 0.5 ? letters(12) : `<think>${letters(12)}</think>${letters(12)}`;
}

function untilAborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
  });
}

/** An endpoint as a lease names it, for a server at `url`. */
export function fakeEndpoint(change: Partial<Endpoint> = {}): Endpoint {
  return {
    id: 1,
    url: "http://inference.test/v1",
    model: "toy",
    backend: "vllm",
    secret: null,
    max_training_requests: 512,
    max_evaluation_requests: 64,
    ...change,
  };
}
