import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { settingsOf } from "../settings.ts";

/** How long this instance goes by what it heard of a run. Any number of shards is right at any time, so it may be old. */
const FRESH_MS = 60_000;

const MAX_RUNS = 1_000;

const known = new Map<string, { shards: number; until: number }>();

/**
 * How many shards a run spreads its payloads over. Asks the Run once in a while, in the background: until it has answered,
 * the deployment's default is used, and a payload is found wherever it was put.
 */
export function shardsOfRun(c: Context<AppEnv>, run: string): number {
  const now = Date.now();
  const heard = known.get(run);
  const shards = heard?.shards ?? settingsOf(c.env).payloadShards;
  if (heard === undefined || heard.until < now) {
    if (known.size >= MAX_RUNS) known.clear();
    known.set(run, { shards, until: now + FRESH_MS });
    c.executionCtx.waitUntil(refresh(c, run));
  }
  return shards;
}

async function refresh(c: Context<AppEnv>, run: string): Promise<void> {
  try {
    const registration = await c.env.RUN.getByName(run).registration();
    if (registration !== null) known.set(run, { shards: registration.payload_shards, until: Date.now() + FRESH_MS });
  } catch {
    // The default serves until the next time.
  }
}
