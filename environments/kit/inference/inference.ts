import type { ChatCompletion, ChatRequest, Completion, CompletionRequest } from "./completion.ts";
import { type Endpoint, MissingSecretError, serverRoot } from "./endpoint.ts";
import { type Purpose, RequestLimiter } from "./limiter.ts";
import type { Renderer } from "./renderer.ts";
import { pause } from "./retry.ts";
import { splitCalls } from "./split.ts";
import { type Fetch, Transport } from "./transport.ts";
import { UnderWay } from "./under-way.ts";
import { CHAT, chatBody, readChat } from "./wire/chat.ts";
import * as plain from "./wire/plain-text.ts";
import { GENERATE, readSglang, sglangBody } from "./wire/sglang.ts";
import * as tokens from "./wire/tokens.ts";
import { COMPLETIONS, readVllm, vllmBody } from "./wire/vllm.ts";

/** An inference server. Every method throws InferenceError, and RangeError for what can't be asked. */
export interface Inference {
  readonly endpoint: Endpoint;
  readonly purpose: Purpose;
  /** Samples after exactly these ids. In order, n of them. */
  complete(request: CompletionRequest): Promise<Completion[]>;
  /** Asks the chat route, for judging and evaluation. In order, n of them. */
  chat(request: ChatRequest): Promise<ChatCompletion[]>;
  /** Without special tokens but those of the template. */
  tokenize(prompt: string | tokens.ChatPrompt): Promise<number[]>;
  /** With special tokens. */
  detokenize(ids: readonly number[]): Promise<string>;
  /** Whether the server answers and says it is well; never throws. */
  health(): Promise<boolean>;
}

export interface InferenceOptions {
  /** Value of a secret by its name. */
  readonly secretOf: (name: string) => string | undefined;
  readonly purpose: Purpose;
  readonly fetch?: Fetch | undefined;
  /** Ends everything that is under way. */
  readonly signal?: AbortSignal | undefined;
  /** Of one request, from when it is sent to the last byte of the answer. */
  readonly timeoutMs?: number | undefined;
  /** Tries of one request. */
  readonly attempts?: number | undefined;
  /** Shared by all that should be limited together. The endpoint's own limits come on top. */
  readonly limiter?: RequestLimiter | undefined;
  /** For plain OpenAI servers: makes ids of the text, see {@link Completion.exact}. */
  readonly tokenizer?: Renderer | undefined;
  /** Counts the requests that the server holds up, for who wants to know. */
  readonly underWay?: UnderWay | undefined;
  readonly random?: (() => number) | undefined;
  readonly wait?: ((ms: number, signal?: AbortSignal) => Promise<void>) | undefined;
}

/** The stock rule. */
const ATTEMPTS = 3;
const TIMEOUT_MS = 300_000;

/**
 * Opens an endpoint. Sends nothing yet.
 * @throws MissingSecretError when its secret isn't set; TypeError for a url that is none.
 *
 * @example
 * const inference = openInference(lease.endpoint, { purpose: "training", secretOf: (name) => secrets[name] });
 * const [completion] = await inference.complete({ prompt, n: 1, maxTokens: 256, temperature: 1 });
 */
export function openInference(endpoint: Endpoint, options: InferenceOptions): Inference {
  return new EndpointInference(endpoint, options);
}

class EndpointInference implements Inference {
  readonly endpoint: Endpoint;
  readonly purpose: Purpose;
  readonly #root: string;
  readonly #transport: Transport;
  readonly #tokenizer: Renderer | undefined;
  readonly #signal: AbortSignal | undefined;

  constructor(endpoint: Endpoint, options: InferenceOptions) {
    this.endpoint = endpoint;
    this.purpose = options.purpose;
    this.#root = serverRoot(endpoint.url);
    this.#tokenizer = options.tokenizer;
    this.#signal = options.signal;
    this.#transport = new Transport({
      root: this.#root,
      apiKey: apiKey(endpoint, options.secretOf),
      fetch: options.fetch ?? ((url, init) => fetch(url, init)),
      slots: (options.limiter ?? new RequestLimiter()).of(endpoint),
      purpose: options.purpose,
      timeoutMs: options.timeoutMs ?? TIMEOUT_MS,
      attempts: options.attempts ?? ATTEMPTS,
      random: options.random ?? Math.random,
      wait: options.wait ?? pause,
      underWay: options.underWay ?? new UnderWay(),
    });
  }

  async complete(request: CompletionRequest): Promise<Completion[]> {
    expectSampling(request);
    if (request.prompt.length === 0) throw new RangeError("prompt holds no token");
    if (this.endpoint.backend === "openai") this.#ownTokenizer();
    return this.#inCalls(request, (part) => this.#completeOnce(part));
  }

  async chat(request: ChatRequest): Promise<ChatCompletion[]> {
    expectSampling(request);
    const { model, backend } = this.endpoint;
    return this.#inCalls(request, async (part) => {
      const body = await this.#transport.post(CHAT, chatBody(model, backend, this.#root, part), part.signal);
      return readChat(body, part, this.#root + CHAT);
    });
  }

  async tokenize(prompt: string | tokens.ChatPrompt): Promise<number[]> {
    if (this.endpoint.backend === "openai") {
      const tokenizer = this.#ownTokenizer();
      if (typeof prompt === "string") return tokenizer.encode(prompt);
      const { messages, tools, addGenerationPrompt = true } = prompt;
      return tokenizer.render(messages, { tools, addGenerationPrompt });
    }
    const body = tokens.tokenizeBody(this.endpoint.model, prompt);
    const answer = await this.#transport.post(tokens.TOKENIZE, body, this.#signal);
    return tokens.readTokens(answer, this.#root + tokens.TOKENIZE);
  }

  async detokenize(ids: readonly number[]): Promise<string> {
    if (this.endpoint.backend === "openai") return this.#ownTokenizer().decode(ids);
    const body = tokens.detokenizeBody(this.endpoint.model, this.endpoint.backend, ids);
    const answer = await this.#transport.post(tokens.DETOKENIZE, body, this.#signal);
    return tokens.readText(answer, this.#root + tokens.DETOKENIZE);
  }

  health(): Promise<boolean> {
    return this.#transport.probe(this.endpoint.backend === "openai" ? "/v1/models" : "/health", this.#signal);
  }

  async #completeOnce(request: CompletionRequest): Promise<Completion[]> {
    const { model, backend } = this.endpoint;
    if (backend === "vllm") {
      const body = await this.#transport.post(COMPLETIONS, vllmBody(model, request), request.signal);
      return readVllm(body, request, this.#root + COMPLETIONS);
    }
    if (backend === "sglang") {
      const body = await this.#transport.post(GENERATE, sglangBody(request), request.signal);
      return readSglang(body, request, this.#root + GENERATE);
    }
    const tokenizer = this.#ownTokenizer();
    const answers = await this.#textOnce(request, tokenizer);
    return Promise.all(answers.map((answer) => plain.tokenizedAfterwards(answer, request.prompt, tokenizer)));
  }

  /** @throws InferenceError (`untrainable`) */
  #ownTokenizer(): Renderer {
    if (this.#tokenizer === undefined) throw plain.withoutTokenizer(this.#root);
    return this.#tokenizer;
  }

  async #textOnce(request: CompletionRequest, tokenizer: Renderer): Promise<plain.TextAnswer[]> {
    const { model, backend } = this.endpoint;
    const { messages } = request;
    if (messages === undefined) {
      const sent = plain.textBody(model, await tokenizer.decode(request.prompt), request);
      const body = await this.#transport.post(plain.TEXT_COMPLETIONS, sent, request.signal);
      return plain.readPlainText(body, request, this.#root + plain.TEXT_COMPLETIONS);
    }
    const sent = chatBody(model, backend, this.#root, { ...request, messages });
    const body = await this.#transport.post(CHAT, sent, request.signal);
    return plain.readChatText(body, request, this.#root + CHAT);
  }

  /** Runs a request in calls of at most 8. If one fails the others are ended, and are over when this throws. */
  async #inCalls<R extends { n: number; seed?: number | undefined; signal?: AbortSignal | undefined }, T>(
    request: R,
    call: (part: R) => Promise<T[]>,
  ): Promise<T[]> {
    const group = new AbortController();
    const signal = AbortSignal.any([group.signal, this.#signal, request.signal].filter((one) => one !== undefined));
    const calls = splitCalls(request.n, request.seed).map((part) =>
      call({ ...request, ...part, signal }).catch((error: unknown) => {
        group.abort();
        throw error;
      }),
    );
    const ended = Promise.allSettled(calls);
    try {
      // Not allSettled's order: the first failure is the cause, later ones are our own abort.
      return (await Promise.all(calls)).flat();
    } finally {
      await ended;
    }
  }
}

function apiKey({ secret, id }: Endpoint, secretOf: InferenceOptions["secretOf"]): string | null {
  if (secret === null) return null;
  // A line break that slipped in with the value makes no valid header.
  const value = secretOf(secret)?.trim();
  if (value === undefined || value === "") throw new MissingSecretError(secret, id);
  return value;
}

function expectSampling({ n, maxTokens, temperature }: { n: number; maxTokens: number; temperature: number }): void {
  if (!Number.isSafeInteger(n) || n < 1) throw new RangeError(`n must be a whole number from 1, not ${n}`);
  if (!Number.isSafeInteger(maxTokens) || maxTokens < 1) {
    throw new RangeError(`maxTokens must be a whole number from 1, not ${maxTokens}`);
  }
  if (!(temperature >= 0)) throw new RangeError(`temperature must be 0 or more, not ${temperature}`);
}
