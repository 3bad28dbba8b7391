import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { UsageError } from "../usage-error.ts";

const FILE = "server.json";
const lock = z.object({ pid: z.int(), url: z.string() });

/**
 * Keeps two servers off one state folder.
 * @throws UsageError when one is running there.
 */
export async function assertFree(state: string): Promise<void> {
  const held = read(state);
  if (held === null || !isRunning(held.pid) || !(await answers(held.url))) return;
  throw new UsageError(
    `a server runs on ${state} already (process ${held.pid}, ${held.url}): stop it, or name another --state`,
  );
}

export function hold(state: string, url: URL): void {
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, FILE), `${JSON.stringify({ pid: process.pid, url: url.href })}\n`);
}

export function release(state: string): void {
  rmSync(join(state, FILE), { force: true });
}

function read(state: string): z.infer<typeof lock> | null {
  try {
    return lock.parse(JSON.parse(readFileSync(join(state, FILE), "utf8")));
  } catch {
    return null;
  }
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

/** A process id alone proves nothing: it may have been given to another program since. */
async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(new URL("/health", url), { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}
