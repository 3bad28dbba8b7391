import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { send } from "../support/http.ts";

const ROOT = join(import.meta.dirname, "../..");
const READY_WITHIN_MS = 60_000;

/** `npm start` as a process of its own, on a state folder that outlives it. */
export class ServerProcess {
  readonly url: string;
  readonly #port: number;
  /** The folder of its state. */
  readonly state: string;
  #child: ChildProcess | null = null;

  constructor(port: number, state: string) {
    this.#port = port;
    this.state = state;
    this.url = `http://127.0.0.1:${port}`;
  }

  /** Resolves when it answers. */
  async start(): Promise<void> {
    const args = ["cli/main.ts", "start", "--api-only", "--port", `${this.#port}`, "--state", this.state];
    const child = spawn(process.execPath, args, { cwd: ROOT, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    this.#child = child;
    let output = "";
    for (const stream of [child.stdout, child.stderr])
      stream?.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const deadline = Date.now() + READY_WITHIN_MS;
    while (!(await this.answers())) {
      if (child.exitCode !== null || Date.now() > deadline) throw new Error(`the server did not start:\n${output}`);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }

  /** Ends it at once: the whole process group, or the command alone, whose guard has to take workerd along. */
  async kill(what: "group" | "command"): Promise<void> {
    const pid = this.#child?.pid;
    if (pid === undefined) throw new Error("the server is not running");
    process.kill(what === "group" ? -pid : pid, "SIGKILL");
    const deadline = Date.now() + 10_000;
    while (await this.answers()) {
      if (Date.now() > deadline) throw new Error("the server answers 10 s after kill -9");
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    this.#child = null;
  }

  /** Stops it in good order. */
  async stop(): Promise<void> {
    const child = this.#child;
    if (child === null) return;
    const ended = new Promise((resolve) => child.once("exit", resolve));
    child.kill("SIGTERM");
    await ended;
    this.#child = null;
  }

  /** Resident memory of its workerd in bytes. */
  workerdRss(): number {
    const pid = this.#child?.pid;
    for (const name of readdirSync("/proc")) {
      if (!/^\d+$/.test(name)) continue;
      try {
        const status = readFileSync(`/proc/${name}/status`, "utf8");
        if (!/^Name:\s+workerd$/m.test(status) || !new RegExp(`^PPid:\\s+${pid}$`, "m").test(status)) continue;
        return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1] ?? 0) * 1024;
      } catch {
        // It ended while we looked.
      }
    }
    throw new Error("no workerd found");
  }

  async answers(): Promise<boolean> {
    return send({ method: "GET", url: `${this.url}/health` }).then(
      ({ status }) => status === 200,
      () => false,
    );
  }
}

/** Runs `use` with a server on a state of its own. Both are gone afterwards, whatever happened. */
export async function withServer(use: (server: ServerProcess) => Promise<void>): Promise<void> {
  const state = mkdtempSync(join(tmpdir(), "lachesis-system-"));
  const server = new ServerProcess(await freePort(), state);
  try {
    await server.start();
    await use(server);
  } finally {
    await server.kill("group").catch(() => undefined);
    rmSync(state, { recursive: true, force: true });
  }
}

/** A port that was free a moment ago. */
function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const probe = createServer().listen(0, "127.0.0.1", () => {
      const address = probe.address();
      probe.close(() =>
        typeof address === "object" && address !== null ? resolve(address.port) : reject(new Error("no port")),
      );
    });
  });
}

export function registration(batchSize: number): string {
  return JSON.stringify({
    wandb_group: null,
    wandb_project: null,
    batch_size: batchSize,
    max_token_len: 1_000_000,
    checkpoint_dir: "/tmp/none",
    save_checkpoint_interval: 100,
    starting_step: 0,
    num_steps: 1_000_000,
  });
}
