import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");
const GONE_WITHIN_MS = 10_000;

/** How a run of the command ended. */
export interface Ended {
  readonly code: number | null;
  readonly stdout: string;
  readonly stderr: string;
}

/** `npm start -- …` as a person runs it, or the command behind it, with everything it starts. */
export class Command {
  readonly #child: ChildProcess;
  readonly #ended: Promise<Ended>;
  #stdout = "";
  #stderr = "";

  constructor(args: readonly string[], environment: Readonly<Record<string, string>> = {}) {
    this.#child = spawn("npm", ["start", "--silent", "--", ...args], {
      cwd: ROOT,
      stdio: ["ignore", "pipe", "pipe"],
      env: { ...process.env, ...environment, [MARK]: `${process.pid}-${++started}` },
      detached: true,
    });
    this.#mark = `${MARK}=${process.pid}-${started}`;
    this.#child.stdout?.on("data", (chunk: Buffer) => (this.#stdout += chunk.toString()));
    this.#child.stderr?.on("data", (chunk: Buffer) => (this.#stderr += chunk.toString()));
    this.#ended = once(this.#child, "close").then(() => ({
      code: this.#child.exitCode,
      stdout: this.#stdout,
      stderr: this.#stderr,
    }));
  }

  readonly #mark: string;

  get ended(): Promise<Ended> {
    return this.#ended;
  }

  get output(): string {
    return `${this.#stdout}\n${this.#stderr}`;
  }

  /** Resolves once the text stands in what it printed. */
  async prints(text: string, withinMs = 300_000): Promise<void> {
    const deadline = Date.now() + withinMs;
    while (!this.output.includes(text)) {
      if (this.#child.exitCode !== null || Date.now() > deadline) {
        throw new Error(`it did not print ${JSON.stringify(text)}:\n${this.output}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Sends a signal to the process of the command whose command line holds these words. */
  signal(signal: NodeJS.Signals, ...words: string[]): void {
    const found = this.processes().find(({ command }) => words.every((word) => command.includes(word)));
    if (found === undefined) throw new Error(`it runs no process of ${words.join(" ")}`);
    process.kill(found.pid, signal);
  }

  /** Its processes that are alive, whoever their parent is: they have inherited its mark. */
  processes(): { pid: number; command: string }[] {
    return readdirSync("/proc").flatMap((name) => {
      if (!/^\d+$/.test(name)) return [];
      try {
        const variables = readFileSync(`/proc/${name}/environ`, "utf8").split("\0");
        if (!variables.includes(this.#mark)) return [];
        return [{ pid: Number(name), command: readFileSync(`/proc/${name}/cmdline`, "utf8").replaceAll("\0", " ") }];
      } catch {
        return [];
      }
    });
  }

  /** What is left of it a while after it ended: command lines. */
  async orphans(): Promise<string[]> {
    const deadline = Date.now() + GONE_WITHIN_MS;
    while (this.processes().length > 0 && Date.now() < deadline) {
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    return this.processes().map(({ command }) => command);
  }

  /** Ends all of it, for good. */
  clear(): void {
    for (const { pid } of this.processes()) {
      try {
        process.kill(pid, "SIGKILL");
      } catch {
        // It ended by itself.
      }
    }
  }
}

/** An environment variable that all processes of one run inherit, and no others. */
const MARK = "LACHESIS_SYSTEM_TEST";
let started = 0;
