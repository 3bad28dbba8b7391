import { InferenceError } from "./errors.ts";
import type { Purpose, Slots } from "./limiter.ts";
import { askedMs, backoffMs, LONGEST_RETRY_AFTER_MS, retryAfterMs } from "./retry.ts";
import type { UnderWay } from "./under-way.ts";

export type Fetch = (url: string, init: RequestInit) => Promise<Response>;

export interface TransportOptions {
  /** As {@link serverRoot} gives it. */
  readonly root: string;
  readonly apiKey: string | null;
  readonly fetch: Fetch;
  readonly slots: Slots;
  readonly purpose: Purpose;
  readonly timeoutMs: number;
  readonly attempts: number;
  readonly random: () => number;
  readonly wait: (ms: number, signal?: AbortSignal) => Promise<void>;
  readonly underWay: UnderWay;
}

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Longest part of an answer that goes into a message, in characters. */
const EXCERPT = 500;

/** Longest wait for an answer about health. */
const HEALTH_TIMEOUT_MS = 10_000;

/** Requests to one inference server: limits, time limits, retries, and every failure as an InferenceError. */
export class Transport {
  readonly #options: TransportOptions;

  constructor(options: TransportOptions) {
    this.#options = options;
  }

  /**
   * Posts JSON and returns the answer's JSON. Tried again, after a wait in which no slot is held, on 429, 5xx and when there
   * is no connection; not after a timeout: the caller is better off with another endpoint.
   * @throws InferenceError
   */
  async post(path: string, body: unknown, signal?: AbortSignal): Promise<unknown> {
    const { attempts, wait, random, underWay } = this.#options;
    const text = JSON.stringify(body);
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.#postOnce(path, text, signal);
      } catch (error) {
        if (!(error instanceof InferenceError) || attempt >= attempts || !isPassing(error)) throw error;
        const { retryAfterMs: asked } = error;
        const ms = asked === null ? backoffMs(attempt, random()) : askedMs(asked, random());
        try {
          await underWay.during(() => wait(ms, signal));
        } catch {
          throw this.#aborted(path);
        }
        if (signal?.aborted) throw this.#aborted(path);
      }
    }
  }

  /** Whether a GET is a success. Takes no slot, so that a busy server can be asked too. */
  async probe(path: string, signal?: AbortSignal): Promise<boolean> {
    const timeout = AbortSignal.timeout(Math.min(HEALTH_TIMEOUT_MS, this.#options.timeoutMs));
    const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    try {
      const { status } = await this.#send("GET", path, null, both, () => {});
      return status >= 200 && status < 300;
    } catch {
      return false;
    }
  }

  async #postOnce(path: string, body: string, signal: AbortSignal | undefined): Promise<unknown> {
    const ticket = await this.#options.slots.acquire(this.#options.purpose, signal).catch(() => {
      throw this.#aborted(path);
    });
    // Counts from here: a long queue is no fault of the server.
    const timeout = AbortSignal.timeout(this.#options.timeoutMs);
    const both = signal === undefined ? timeout : AbortSignal.any([signal, timeout]);
    let stage = "headers";
    try {
      const answer = await this.#options.underWay.during(() =>
        this.#send("POST", path, body, both, () => {
          stage = "body";
          ticket.headersArrived();
        }),
      );
      return this.#read(path, answer);
    } catch (error) {
      if (error instanceof InferenceError) throw error;
      if (signal?.aborted) throw this.#aborted(path);
      const { timeoutMs } = this.#options;
      if (timeout.aborted) throw this.#error("timeout", path, `sent no complete ${stage} within ${timeoutMs / 1000} s`);
      const how = stage === "body" ? "broke off its answer" : "could not be reached";
      throw this.#error("unreachable", path, `${how}: ${error instanceof Error ? error.message : String(error)}`);
    } finally {
      ticket.release();
    }
  }

  async #send(method: string, path: string, body: string | null, signal: AbortSignal, onHeaders: () => void) {
    const { root, apiKey, fetch } = this.#options;
    const response = await orAborted(
      fetch(`${root}${path}`, {
        method,
        headers: {
          ...(body === null ? {} : { "content-type": "application/json" }),
          ...(apiKey === null ? {} : { authorization: `Bearer ${apiKey}` }),
        },
        ...(body === null ? {} : { body }),
        // A redirect would turn the POST into a GET, or drop the key.
        redirect: "manual",
        signal,
      }),
      signal,
    );
    onHeaders();
    const text = await orAborted(response.text(), signal);
    return { status: response.status, headers: response.headers, text };
  }

  #read(path: string, { status, headers, text }: Answer): unknown {
    if (status >= 200 && status < 300) {
      try {
        return JSON.parse(text);
      } catch {
        // Not quoted: it may hold what was generated.
        const type = headers.get("content-type") ?? "no content type";
        const why = text === "" ? "an empty body" : `${text.length} characters (${type}) that are no JSON`;
        throw this.#error("response", path, `answered ${status} with ${why}`, { status });
      }
    }
    const asked = retryAfterMs(headers.get("retry-after"), Date.now());
    const tooLong = asked !== null && asked > LONGEST_RETRY_AFTER_MS;
    if (status === 429 || (status >= 500 && tooLong)) {
      const wait = asked === null ? "" : ` and asks to wait ${asked / 1000} s`;
      throw this.#error("overloaded", path, `answered ${status}${wait}: ${text}`, { status, retryAfterMs: asked });
    }
    const where = headers.get("location");
    const detail = where === null ? text : `a redirect to ${where}: give that address as the endpoint's url`;
    throw this.#error("status", path, `answered ${status}: ${detail}`, {
      status,
      endpointFault: status >= 500,
      retryAfterMs: asked,
    });
  }

  #aborted(path: string): InferenceError {
    return this.#error("aborted", path, "was no longer waited for");
  }

  /** An error about this server, without the key, whoever quoted it. */
  #error(
    reason: InferenceError["reason"],
    path: string,
    what: string,
    details: ConstructorParameters<typeof InferenceError>[2] = {},
  ): InferenceError {
    const { root, apiKey } = this.#options;
    const clean = apiKey === null ? what : what.replaceAll(apiKey, "***");
    const message = clean.length > EXCERPT ? `${clean.slice(0, EXCERPT)}…` : clean;
    return new InferenceError(reason, `${root}${path} ${message}`, details);
  }
}

function isPassing({ reason, status, retryAfterMs }: InferenceError): boolean {
  if (retryAfterMs !== null && retryAfterMs > LONGEST_RETRY_AFTER_MS) return false;
  return (
    reason === "overloaded" || reason === "unreachable" || (reason === "status" && status !== null && status >= 500)
  );
}

/** The promise, or the signal's reason: a fetch that ignores its signal must not hold us. */
function orAborted<T>(promise: Promise<T>, signal: AbortSignal): Promise<T> {
  return new Promise((resolve, reject) => {
    const give = () => reject(signal.reason);
    if (signal.aborted) give();
    signal.addEventListener("abort", give, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener("abort", give));
  });
}
