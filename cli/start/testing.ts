import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MAIN = join(import.meta.dirname, "../main.ts");
const LOOK_EVERY_MS = 5;

/** The command `start` as a process of its own, in a group of its own, with a folder of its own for temporary files. */
export class StartProcess {
  readonly temporary = mkdtempSync(join(tmpdir(), "interrupted-"));
  readonly #child: ChildProcess;
  readonly #closed: Promise<unknown>;
  output = "";

  constructor(args: readonly string[]) {
    this.#child = spawn(process.execPath, [MAIN, "start", "--port", "0", ...args], {
      // Where a session without end keeps its state.
      cwd: this.temporary,
      stdio: ["ignore", "pipe", "pipe"],
      // As a terminal's foreground job: a signal to the group reaches all that it starts.
      detached: true,
      env: { ...process.env, TMPDIR: this.temporary, NODE_OPTIONS: "" },
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on("data", (chunk: Buffer) => (this.output += chunk.toString()));
    }
    this.#closed = once(this.#child, "close");
  }

  /** Resolves as soon as it is so; @throws when the process ends before. */
  async until(isSo: (process: StartProcess) => boolean): Promise<void> {
    while (!isSo(this)) {
      if (this.#child.exitCode !== null) throw new Error(`it ended before:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS));
    }
  }

  /** Sends a signal to the whole group, as a terminal does, or to the command alone. Resolves with how it ended. */
  async end(signal: NodeJS.Signals, whom: "group" | "command"): Promise<number | NodeJS.Signals | null> {
    const pid = this.#child.pid ?? 0;
    process.kill(whom === "group" ? -pid : pid, signal);
    return this.ended();
  }

  /** Exit code, or the signal that ended it. */
  async ended(): Promise<number | NodeJS.Signals | null> {
    await this.#closed;
    return this.#child.exitCode ?? this.#child.signalCode;
  }

  /** Command lines of the processes that it started. */
  processes(): string[] {
    return this.#started().map(({ command }) => command);
  }

  /** Halts the first of its processes whose command line holds this name, so that what waits for it waits on. */
  halt(name: string): void {
    const found = this.#started().find(({ command }) => command.includes(name));
    if (found === undefined) throw new Error(`it runs no ${name}:\n${this.output}`);
    process.kill(found.pid, "SIGSTOP");
  }

  /** In whatever group they are: they have inherited its folder. */
  #started(): { pid: number; command: string }[] {
    return readdirSync("/proc").flatMap((pid) => {
      try {
        const variables = readFileSync(`/proc/${pid}/environ`, "utf8").split("\0");
        if (!variables.includes(`TMPDIR=${this.temporary}`)) return [];
        const command = readFileSync(`/proc/${pid}/cmdline`, "utf8").replaceAll("\0", " ").trim();
        return [{ pid: Number(pid), command }];
      } catch {
        return [];
      }
    });
  }

  /** What is in its folder for temporary files. */
  files(): string[] {
    return readdirSync(this.temporary);
  }

  /** Ends what is left of it. */
  clear(): void {
    if (this.#child.exitCode === null && this.#child.signalCode === null && this.#child.pid !== undefined) {
      process.kill(-this.#child.pid, "SIGKILL");
    }
    rmSync(this.temporary, { recursive: true, force: true, maxRetries: 5 });
  }
}
