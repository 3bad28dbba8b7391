import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { WorkerSource } from "../../../cli/server/worker.ts";

const ROOT = join(import.meta.dirname, "../../..");

/** Folders of Workers made for a test, inside the project so that they find its packages. */
export class EnvironmentFolder {
  readonly #folder: string;
  /** Of those that were added. */
  readonly names: string[] = [];

  constructor() {
    const parent = join(ROOT, ".lachesis", "test");
    mkdirSync(parent, { recursive: true });
    this.#folder = mkdtempSync(join(parent, "environments-"));
  }

  /** A Worker of this name whose environment is a `conversation`, with a queue of its own. */
  add(name: string, settings: Readonly<Record<string, unknown>>): WorkerSource {
    const folder = join(this.#folder, name);
    mkdirSync(folder);
    this.names.push(name);
    const conversation = join(import.meta.dirname, "conversation.ts");
    writeFileSync(
      join(folder, "index.ts"),
      `import { conversation } from ${JSON.stringify(conversation)};\nexport default conversation(${JSON.stringify(name)});\n`,
    );
    const config = join(folder, "wrangler.toml");
    writeFileSync(
      config,
      `name = "test-${name}"
main = "index.ts"
compatibility_date = "2026-11-01"
compatibility_flags = ["nodejs_compat"]
[triggers]
crons = ["* * * * *"]
[[queues.producers]]
binding = "ROLLOUTS"
queue = "test-${name}"
[[queues.consumers]]
queue = "test-${name}"
max_batch_size = 5
max_batch_timeout = 0
max_retries = 2
dead_letter_queue = "test-${name}-failed"
[[services]]
binding = "LACHESIS"
service = "lachesis"
[vars]
RUN = "default"
`,
    );
    return { config, variables: { CONFIG: JSON.stringify(settings) } };
  }

  remove(): void {
    rmSync(this.#folder, { recursive: true, force: true });
  }
}
