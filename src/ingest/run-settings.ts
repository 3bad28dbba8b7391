import type { Context } from "hono";
import type { AppEnv } from "../app-env.ts";
import { settingsOf } from "../settings.ts";

/** What taking groups in needs to know of a run. */
export interface RunSettings {
  /** How many shards the run spreads its payloads over. */
  readonly shards: number;
  /** Whether requests without a key are told by their contents. The Run itself says so where this is out of date. */
  readonly deduplicate: boolean;
}

/** How long this instance goes by what it heard of a run, in milliseconds. Any number of shards is right at any time. */
const FRESH_MS = 60_000;

/** The same of a run nobody has registered yet. */
const UNREGISTERED_MS = 1_000;

const MAX_RUNS = 1_000;

const known = new Map<string, { settings: RunSettings; until: number }>();

/**
 * A run's settings. Asks the Run when it was never asked, and once in a while, then in the background: a payload is found
 * wherever it was put.
 */
export async function settingsOfRun(c: Context<AppEnv>, run: string): Promise<RunSettings> {
  const heard = known.get(run);
  if (heard === undefined) return askRun(c, run);
  if (heard.until < Date.now()) {
    heard.until = Date.now() + FRESH_MS;
    c.executionCtx.waitUntil(askRun(c, run));
  }
  return heard.settings;
}

/** The same as the Run knows it now; what this instance knows where it can't be asked. */
export async function askRun(c: Context<AppEnv>, run: string): Promise<RunSettings> {
  const fallback = { shards: settingsOf(c.env).payloadShards, deduplicate: false };
  try {
    const registration = await c.env.RUN.getByName(run).registration();
    const settings =
      registration === null ? fallback : { shards: registration.payload_shards, deduplicate: registration.deduplicate };
    if (known.size >= MAX_RUNS) known.clear();
    known.set(run, { settings, until: Date.now() + (registration === null ? UNREGISTERED_MS : FRESH_MS) });
    return settings;
  } catch {
    // What is known, or the default, serves until the next time.
    return known.get(run)?.settings ?? fallback;
  }
}
