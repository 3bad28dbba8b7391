import { createExecutionContext, env, evictDurableObject } from "cloudflare:test";
import { app } from "../../src/app.ts";

const OPEN = { ...env, AUTH_SECRET: undefined, ALLOW_ANONYMOUS: "true" };

/** workerd makes no GET with a body, but takes one. */
class Sent extends Request {
  readonly #method: string;

  constructor(method: string, url: string, body: Uint8Array | string | null, headers: Record<string, string>) {
    super(url, { method: method === "GET" && body !== null ? "POST" : method, body, headers });
    this.#method = method;
  }

  override get method(): string {
    return this.#method;
  }
}

export interface Answered {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Sends a request. What comes after its answer is not waited for: of a batch that would take a quarter of a second. */
export async function send(
  method: string,
  path: string,
  body: Uint8Array | string | null = null,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const context = createExecutionContext();
  const response = await app.fetch(new Sent(method, `http://lachesis${path}`, body, headers), OPEN, context);
  const text = await response.text();
  return { status: response.status, headers: response.headers, text };
}

/** Sends JSON that has to be taken. */
export async function post(path: string, body: unknown): Promise<Answered> {
  const answer = await send("POST", path, JSON.stringify(body));
  if (answer.status !== 200) throw new Error(`${path} was answered ${answer.status}: ${answer.text}`);
  return answer;
}

/** Reads JSON; what is refused is null. */
export async function read(path: string): Promise<unknown> {
  const { status, text } = await send("GET", path);
  return status === 200 ? JSON.parse(text) : null;
}

/** The run's object is gone from memory, as after a crash or a deployment: what is asked next is read from disk. */
export function restart(run: string): Promise<void> {
  return evictDurableObject(env.RUN.getByName(run));
}
