import type { z } from "zod";
import { readAddress } from "./address.ts";

type Method = "GET" | "POST" | "PUT";

/** How to reach a run. */
export interface TransportOptions {
  /** The server's URL, with or without /runs/RUN. A password in it is the token. */
  readonly url: string | URL;
  /** Wins over a password in the URL. */
  readonly token?: string | undefined;
  /** Sends requests; a service binding's, for instance. */
  readonly fetch?: ((request: Request) => Promise<Response>) | undefined;
  /** Tries of a request that may be repeated. */
  readonly attempts?: number | undefined;
  /** Once it is aborted nothing is tried again; what is under way goes on. */
  readonly signal?: AbortSignal | undefined;
}

export interface RequestOptions {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Whether doing it twice is the same as doing it once. */
  readonly repeatable: boolean;
  readonly timeoutSeconds?: number;
  readonly signal?: AbortSignal;
}

/** An answer that was no success, in the server's words, or none of a server's; or none at all, and then `status` is 0. */
export class ClientError extends Error {
  readonly status: number;

  constructor(status: number, detail: string, options?: ErrorOptions) {
    super(status === 0 ? detail : `${status}: ${detail}`, options);
    this.status = status;
  }
}

const ATTEMPTS = 4;
const FIRST_WAIT_MS = 250;
/** A server that asks for more is given up. */
const LONGEST_ASKED_MS = 60_000;
const TIMEOUT_SECONDS = 60;

/** Longest text of an answer that goes into an error. */
const DETAIL_LENGTH = 2_000;

/** Sends requests to one run, again if that can do no harm. */
export class Transport {
  readonly #base: string;
  readonly #token: string | undefined;
  readonly #fetch: (request: Request) => Promise<Response>;
  readonly #attempts: number;
  readonly #signal: AbortSignal | undefined;

  /** @throws AddressError */
  constructor({
    url,
    token,
    fetch: send = (request) => fetch(request),
    attempts = ATTEMPTS,
    signal,
  }: TransportOptions) {
    const address = readAddress(url, token);
    this.#base = address.url;
    this.#token = address.token;
    this.#fetch = send;
    this.#attempts = attempts;
    this.#signal = signal;
  }

  /**
   * The answer, which is a success. Its body is still to come.
   * @throws ClientError
   */
  send(method: Method, path: string, options: RequestOptions): Promise<Response> {
    return this.#ask(method, path, options, async (response) => response);
  }

  /**
   * What was answered, and its headers. An answer that breaks off is asked for again like one that doesn't come.
   * @throws ClientError, also for an answer that is no JSON, or not what the schema says
   */
  json<T>(
    method: Method,
    path: string,
    schema: z.ZodType<T>,
    options: RequestOptions,
  ): Promise<{ readonly body: T; readonly headers: Headers }> {
    return this.#ask(method, path, options, async (response) => {
      const body = await readAnswer(`${method} ${pathOnly(path)}`, response, schema);
      return { body, headers: response.headers };
    });
  }

  async #ask<T>(method: Method, path: string, options: RequestOptions, read: (response: Response) => Promise<T>) {
    const attempts = options.repeatable ? this.#attempts : 1;
    const stops = [this.#signal, options.signal].filter((signal) => signal !== undefined);
    for (let attempt = 1; ; attempt++) {
      const answer = await this.#once(method, path, options, read);
      if ("success" in answer) return answer.success;
      const wait = answer instanceof ClientError ? backoffMs(attempt) : waitMs(answer, attempt);
      if (attempt === attempts || wait === null) throw await this.#failure(method, path, answer);
      await pause(wait, stops);
      if (stops.some(({ aborted }) => aborted)) throw await this.#failure(method, path, answer);
    }
  }

  /** What was read of a success; another answer; or why there is none. */
  async #once<T>(
    method: Method,
    path: string,
    { body, headers, timeoutSeconds, signal }: RequestOptions,
    read: (response: Response) => Promise<T>,
  ): Promise<{ readonly success: T } | Response | ClientError> {
    const timeout = AbortSignal.timeout((timeoutSeconds ?? TIMEOUT_SECONDS) * 1000);
    const request = new Request(`${this.#base}${path}`, {
      method,
      headers: {
        ...(this.#token === undefined ? {} : { authorization: `Bearer ${this.#token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" }),
        ...headers,
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: signal === undefined ? timeout : AbortSignal.any([timeout, signal]),
    });
    let hasBegun = false;
    try {
      const response = await this.#fetch(request);
      hasBegun = true;
      return response.ok ? { success: await read(response) } : response;
    } catch (error) {
      if (error instanceof ClientError && error.status > 0) throw error;
      const why = this.#withoutToken(error instanceof Error ? error.message : String(error));
      const what = `${method} ${pathOnly(path)}`;
      const message = hasBegun ? `the answer to ${what} broke off: ${why}` : `no answer to ${what}: ${why}`;
      return new ClientError(0, message, { cause: error });
    }
  }

  async #failure(method: Method, path: string, answer: Response | ClientError): Promise<ClientError> {
    if (answer instanceof ClientError) return answer;
    const detail = this.#withoutToken(await answer.text().catch(() => "")).slice(0, DETAIL_LENGTH);
    return new ClientError(answer.status, `${method} ${pathOnly(path)} was answered ${detail}`);
  }

  /** A proxy that says what it refused may repeat the request's headers. */
  #withoutToken(text: string): string {
    return this.#token === undefined ? text : text.replaceAll(this.#token, "***");
  }
}

/**
 * A success as the schema says it is. What else there is isn't quoted: it may hold what was generated, or a secret.
 * @param what the request, in words
 * @throws ClientError for an answer that is none of this server's; any other error for one that breaks off
 */
export async function readAnswer<T>(what: string, response: Response, schema: z.ZodType<T>): Promise<T> {
  const { status, headers } = response;
  const type = headers.get("content-type") ?? "no content type";
  const text = await response.text();
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    // Where nothing says how long an answer is, one that is cut short ends like any other.
    if (type.startsWith("application/json")) throw new Error(`it is no JSON after ${text.length} characters`);
    const found = `${what} was answered with ${text.length} characters (${type}) that are no JSON`;
    throw new ClientError(status, `${found}: is that the address of a Lachesis server?`);
  }
  const read = schema.safeParse(value);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const found = `${what} was answered with something unknown (${issue?.path.join(".") || "all of it"}: ${issue?.message})`;
  throw new ClientError(status, `${found}: is that the address of a Lachesis server, of the same release?`);
}

function pathOnly(path: string): string {
  return path.split("?", 1)[0] ?? path;
}

/** Milliseconds the server asked to wait, or null. It says seconds; we send no dates. */
function retryAfter(response: Response): number | null {
  const seconds = Number(response.headers.get("retry-after") ?? Number.NaN);
  return Number.isFinite(seconds) && seconds >= 0 ? seconds * 1000 : null;
}

/**
 * Milliseconds until a request that got this answer is tried again: never less than the server asked for, and up to a quarter
 * more, so that those it sent away together don't come back together. Null when it is not to be tried again.
 */
function waitMs(answer: Response, attempt: number): number | null {
  if (answer.status !== 429 && answer.status < 500) return null;
  const asked = retryAfter(answer);
  if (asked === null) return backoffMs(attempt);
  return asked > LONGEST_ASKED_MS ? null : asked * (1 + Math.random() / 4);
}

function backoffMs(attempt: number): number {
  return FIRST_WAIT_MS * 2 ** (attempt - 1) * (0.5 + Math.random());
}

/** Ends early when one of the signals is aborted. */
function pause(ms: number, signals: readonly AbortSignal[]): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      clearTimeout(timer);
      for (const signal of signals) signal.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, ms);
    for (const signal of signals) signal.addEventListener("abort", end);
    if (signals.some(({ aborted }) => aborted)) end();
  });
}
