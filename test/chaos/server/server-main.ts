import { readFileSync } from "node:fs";
import { join } from "node:path";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { guardRuntimes } from "../../../cli/server/processes.ts";

/**
 * The bundled server as a process of its own. Its settings come as JSON. Prints `url URL` once it is up, and lines that the
 * Worker logs.
 */
interface Settings {
  /** Holds worker.mjs and options.json, and gets the state. */
  readonly folder: string;
  readonly port: number;
  readonly variables: Readonly<Record<string, string>>;
}

const NAME = "lachesis";

const { folder, port, variables }: Settings = JSON.parse(process.argv[2] ?? "");
const options: { bindings?: Record<string, string> } = JSON.parse(readFileSync(join(folder, "options.json"), "utf8"));
const contents = readFileSync(join(folder, "worker.mjs"), "utf8");
const worker = {
  ...options,
  name: NAME,
  modules: [{ type: "ESModule" as const, path: "worker.mjs", contents }],
  bindings: { ...options.bindings, ...variables },
  unsafeDirectSockets: [{ host: "127.0.0.1", port }],
};
guardRuntimes();
const miniflare = new Miniflare(
  convertV4MiniflareOptions({
    workers: [worker],
    host: "127.0.0.1",
    port: 0,
    log: new Log(LogLevel.ERROR),
    telemetry: { enabled: false },
    resourcePersistencePath: join(folder, "state"),
    handleStructuredLogs: ({ message }) => console.log(message.replaceAll("\n", " ")),
  }),
);
await miniflare.ready;
process.stdin.on("end", () => process.exit()).resume();
console.log(`url ${await miniflare.unsafeGetDirectURL(NAME)}`);
