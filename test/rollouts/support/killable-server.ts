import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { WorkerSource } from "../../../cli/server/worker.ts";
import { killGroup } from "../../support/kill-group.ts";

/** The API with environments, on a state that outlives its process. */
export class KillableServer {
  readonly #state = mkdtempSync(join(tmpdir(), "lachesis-rollouts-"));
  readonly #environments: readonly WorkerSource[];
  readonly #names: readonly string[];
  #port = 0;
  #child: ChildProcess | null = null;

  /** `names`: of the environments, as they register. */
  constructor(environments: readonly WorkerSource[], names: readonly string[]) {
    this.#environments = environments;
    this.#names = names;
  }

  /** Starts it, the second time on the same port. Returns its URL. */
  async start(): Promise<URL> {
    const settings = JSON.stringify({
      port: this.#port,
      state: this.#state,
      environments: this.#environments,
      names: this.#names,
    });
    const main = join(import.meta.dirname, "server-main.ts");
    const child = spawn(process.execPath, [main, settings], { stdio: ["ignore", "pipe", "inherit"], detached: true });
    this.#child = child;
    const [line] = await Promise.race([
      once(child.stdout, "data"),
      once(child, "exit").then(() => {
        throw new Error("the server ended before it was up");
      }),
    ]);
    const url = new URL(String(line).trim());
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
    rmSync(this.#state, { recursive: true, force: true });
  }
}
