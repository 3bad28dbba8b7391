import type { Context } from "hono";
import type { PayloadAddress } from "../../durable-objects/payloads.ts";
import type { AppEnv } from "../app-env.ts";
import { runOf } from "../runs.ts";
import { payloadText, textLength } from "./payload-text.ts";
import { streamJson } from "./stream.ts";

/** JSON around the payloads' text. */
export interface Around {
  readonly head: string;
  readonly tail: string;
  readonly headers: Readonly<Record<string, string>>;
}

/** Nothing around: one payload by itself. */
const BARE: Around = { head: "", tail: "", headers: {} };

/** Answers with payloads of the request's run, joined with commas. Whether the client gets all of it changes nothing. */
export async function showPayloads(
  c: Context<AppEnv>,
  payloads: readonly PayloadAddress[],
  around: Around = BARE,
): Promise<Response> {
  const { response, sent } = await streamJson(c.req.raw, {
    ...around,
    pieces: payloadText(c.env, runOf(c), payloads),
    length: textLength(payloads),
  });
  c.executionCtx.waitUntil(sent.catch(() => undefined));
  return response;
}
