import { CLIENT_HEADER, EXCHANGE_HEADER, SERIAL_HEADER } from "../proxy/proxy.ts";
import { pause, type Random } from "../random.ts";
import type { Recorder } from "../recorder.ts";

export interface Heard {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

export interface Question {
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
  /** Of the submission this is a part of. */
  readonly serial?: number;
}

/** Longest a client waits for an answer: more than any request waits at the server or in the proxy. */
const GIVE_UP_MS = 15_000;
const MAX_TRIES = 300;

/** How one client talks to the server. */
export class Wire {
  readonly client: string;
  readonly random: Random;
  readonly recorder: Recorder;
  readonly #base: URL;

  constructor(base: URL, client: string, random: Random, recorder: Recorder) {
    this.#base = base;
    this.client = client;
    this.random = random;
    this.recorder = recorder;
  }

  /** One try. Null when no whole answer came. */
  async ask(method: "GET" | "POST", path: string, { body, headers, serial }: Question = {}): Promise<Heard | null> {
    if (serial !== undefined) this.recorder.attempt(serial);
    try {
      const response = await fetch(new URL(path, this.#base), {
        method,
        headers: {
          [CLIENT_HEADER]: this.client,
          ...(serial === undefined ? {} : { [SERIAL_HEADER]: `${serial}` }),
          ...(body === undefined ? {} : { "content-type": "application/json" }),
          ...headers,
        },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        signal: AbortSignal.timeout(GIVE_UP_MS),
      });
      const text = await response.text();
      this.recorder.heard(Number(response.headers.get(EXCHANGE_HEADER)));
      return { status: response.status, headers: response.headers, body: text };
    } catch {
      return null;
    }
  }

  /**
   * Tries until there is a definite answer, with short waits, as nobody here can be overloaded.
   * @throws when there is none for minutes.
   */
  async insist(method: "GET" | "POST", path: string, question: Question = {}): Promise<Heard> {
    for (let tries = 1; tries <= MAX_TRIES; tries++) {
      const heard = await this.ask(method, path, question);
      if (heard !== null && heard.status < 500 && heard.status !== 429) return heard;
      await pause(this.random.between(20, 400));
    }
    throw new Error(`${this.client} got no definite answer to ${method} ${path} in ${MAX_TRIES} tries`);
  }
}
