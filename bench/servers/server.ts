/** A server under measurement: a child process, or one that already runs somewhere. */
import { type ChildProcess, execFile, spawn } from "node:child_process";
import { closeSync, mkdirSync, openSync, readFileSync } from "node:fs";
import { createServer } from "node:net";
import { dirname } from "node:path";
import { promisify } from "node:util";

export interface Server {
  readonly url: URL;
  /** Root of the process tree; null for a server that was not started here. */
  readonly pid: number | null;
  stop(): Promise<void>;
}

const READY_TIMEOUT_MS = 60_000;
const READY_POLL_MS = 100;
const STOP_TIMEOUT_MS = 10_000;
const SHOWN_LOG_CHARACTERS = 2_000;

export interface StartOptions {
  readonly port: number;
  readonly cwd: string;
  /** Takes the server's output: a pipe would cost the load generator a read a line. */
  readonly log: string;
}

/**
 * Starts a server and waits until its API answers.
 * @throws if the process exits or does not answer within a minute; the message ends with the end of its log
 */
export async function startServer(
  name: string,
  command: string,
  args: readonly string[],
  { port, cwd, log }: StartOptions,
): Promise<Server> {
  const url = new URL(`http://127.0.0.1:${port}`);
  mkdirSync(dirname(log), { recursive: true });
  const output = openSync(log, "w");
  const child = spawn(command, args, { cwd, stdio: ["ignore", output, output] });
  closeSync(output);
  let failure: Error | null = null;
  child.once("error", (error) => {
    failure = error;
  });
  const stopWithUs = () => child.kill();
  process.once("exit", stopWithUs);
  const stop = async () => {
    process.off("exit", stopWithUs);
    await stopChild(child);
  };

  const deadline = Date.now() + READY_TIMEOUT_MS;
  while (!(await answers(url))) {
    const problem =
      failure ?? (hasExited(child) ? "exited" : Date.now() > deadline ? "did not answer within a minute" : null);
    if (problem) {
      await stop();
      throw new Error(`${name} (${[command, ...args].join(" ")}): ${problem}\n${endOf(log)}`.trimEnd());
    }
    await new Promise((resolve) => setTimeout(resolve, READY_POLL_MS));
  }
  return { url, pid: child.pid ?? null, stop };
}

export function runningServer(url: URL): Server {
  return { url, pid: null, stop: async () => {} };
}

export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  await new Promise((resolve) => server.close(resolve));
  if (address === null || typeof address === "string") throw new Error("no free port on 127.0.0.1");
  return address.port;
}

/** @returns resident bytes of the process and all its descendants; null where `ps` cannot tell */
export async function residentBytes(pid: number): Promise<number | null> {
  let table: string;
  try {
    ({ stdout: table } = await promisify(execFile)("ps", ["-A", "-o", "pid=,ppid=,rss="]));
  } catch {
    return null;
  }
  return residentBytesIn(table, pid);
}

/** @param table lines of process id, parent's id and resident KiB */
export function residentBytesIn(table: string, pid: number): number {
  const rows = table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number));
  const tree = new Set([pid]);
  for (let before = 0; before < tree.size; ) {
    before = tree.size;
    for (const [child = 0, parent = 0] of rows) if (tree.has(parent)) tree.add(child);
  }
  return rows.reduce((sum, [id = 0, , kibibytes = 0]) => sum + (tree.has(id) ? kibibytes * 1024 : 0), 0);
}

function endOf(log: string): string {
  return readFileSync(log, "utf8").slice(-SHOWN_LOG_CHARACTERS);
}

async function answers(url: URL): Promise<boolean> {
  try {
    return (await fetch(url)).ok;
  } catch {
    return false;
  }
}

function hasExited(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}

async function stopChild(child: ChildProcess): Promise<void> {
  if (hasExited(child) || child.pid === undefined) return;
  const exited = new Promise((resolve) => child.once("exit", resolve));
  child.kill("SIGTERM");
  const kill = setTimeout(() => child.kill("SIGKILL"), STOP_TIMEOUT_MS);
  await exited;
  clearTimeout(kill);
}
