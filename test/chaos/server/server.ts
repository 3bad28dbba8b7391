import { type ChildProcess, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { unstable_getMiniflareWorkerOptions } from "wrangler";
import { killGroup } from "../../support/kill-group.ts";
import type { Edit } from "../mutations.ts";
import { bundle } from "./bundle.ts";

const API_CONFIG = join(import.meta.dirname, "../../../wrangler.toml");

export interface ChaosServerOptions {
  readonly edits: readonly Edit[];
  readonly seed: number;
  /** Share of a shard's calls to the Run that fail. */
  readonly commitFaults: number;
  /** A fault inside the server happened. */
  readonly onFault: (name: string) => void;
  /** What the server logged otherwise. */
  readonly onLog: (line: string) => void;
}

/** The server as a process of its own that can be killed, on a state that outlives it. */
export class ChaosServer {
  readonly #options: ChaosServerOptions;
  readonly #folder = mkdtempSync(join(tmpdir(), "lachesis-chaos-"));
  #prepared = false;
  #port = 0;
  #life = 0;
  #child: ChildProcess | null = null;

  constructor(options: ChaosServerOptions) {
    this.#options = options;
    process.once("exit", () => rmSync(this.#folder, { recursive: true, force: true }));
  }

  /** Starts it, from the second time on on the same port. Returns its URL. */
  async start(): Promise<URL> {
    if (!this.#prepared) await this.#prepare();
    const { seed, commitFaults, onFault, onLog } = this.#options;
    const variables = {
      ALLOW_ANONYMOUS: "true",
      CHAOS_SEED: `${seed}`,
      CHAOS_COMMIT_FAULTS: `${commitFaults}`,
      CHAOS_LIFE: `${this.#life++}`,
    };
    const settings = JSON.stringify({ folder: this.#folder, port: this.#port, variables });
    const main = join(import.meta.dirname, "server-main.ts");
    // It ends when its standard input does: with this process, however that ends.
    const child = spawn(process.execPath, [main, settings], { stdio: ["pipe", "pipe", "pipe"], detached: true });
    this.#child = child;
    child.stderr.on("data", (chunk: Buffer) => onLog(chunk.toString().trimEnd()));
    const started = Promise.withResolvers<URL>();
    createInterface(child.stdout).on("line", (line) => {
      const [word, ...rest] = line.split(" ");
      if (word === "url") started.resolve(new URL(rest.join(" ")));
      else if (word === "chaos") onFault(rest.join(" "));
      else onLog(line);
    });
    child.once("exit", (code) => started.reject(new Error(`the server ended before it was up, with code ${code}`)));
    const url = await started.promise;
    this.#port = Number(url.port);
    return url;
  }

  /** kill -9 of it and its workerd. */
  async kill(): Promise<void> {
    const child = this.#child;
    this.#child = null;
    if (child !== null) await killGroup(child);
  }

  async remove(): Promise<void> {
    await this.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Bundled once, so that a restart is quick. */
  async #prepare(): Promise<void> {
    const { workerOptions } = unstable_getMiniflareWorkerOptions(API_CONFIG);
    writeFileSync(join(this.#folder, "worker.mjs"), await bundle(this.#options.edits));
    writeFileSync(join(this.#folder, "options.json"), JSON.stringify({ ...workerOptions, modulesRules: undefined }));
    this.#prepared = true;
  }
}
