import { createExecutionContext, env, waitOnExecutionContext } from "cloudflare:test";
import { app } from "./app.ts";

let runs = 0;

/** A name that no run has. */
export const freshRun = () => `http-test-${runs++}`;

export const OPEN = { ...env, AUTH_SECRET: undefined, ALLOW_ANONYMOUS: "true" };
export const REGISTRATION = {
  wandb_group: null,
  wandb_project: null,
  batch_size: 2,
  max_token_len: 64,
  checkpoint_dir: "/ckpt",
  save_checkpoint_interval: 10,
  starting_step: 0,
  num_steps: 100,
};
export const GROUP = {
  tokens: [
    [1, 2],
    [3, 4],
  ],
  masks: [
    [1, 2],
    [3, 4],
  ],
  scores: [0.5, 1],
};

/** Answers with all that comes after the request done, so that a batch that was read counts as delivered. */
export async function call(
  method: string,
  path: string,
  body?: unknown,
  headers: Record<string, string> = {},
  settings = {},
) {
  const ctx = createExecutionContext();
  const init = body === undefined ? {} : { body: typeof body === "string" ? body : JSON.stringify(body) };
  const request = new Request(`http://lachesis${path}`, { method, headers, ...init });
  const response = await app.fetch(request, { ...OPEN, ...settings }, ctx);
  const bytes = new Uint8Array(await response.arrayBuffer());
  await waitOnExecutionContext(ctx);
  return { status: response.status, headers: response.headers, bytes, text: new TextDecoder().decode(bytes) };
}

export async function stepOf(run: string): Promise<number> {
  return (await env.RUN.getByName(run).status()).step;
}
