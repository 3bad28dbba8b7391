import { startServer } from "../../../cli/server/local-server.ts";
import type { WorkerSource } from "../../../cli/server/worker.ts";
import { requeue } from "../../../cli/start/requeue.ts";
import { Client } from "../../../src/client/client.ts";
import { DEFAULT_RUN } from "../../../src/wire/names.ts";

/** The server with environments as a process of its own, which a test can kill. Its settings come as JSON. */
interface Settings {
  readonly port: number;
  readonly state: string;
  readonly environments: readonly WorkerSource[];
  /** Of the environments. */
  readonly names: readonly string[];
}

const settings: Settings = JSON.parse(process.argv[2] ?? "");
const server = await startServer({
  ...settings,
  host: "127.0.0.1",
  variables: { ALLOW_ANONYMOUS: "true" },
  onLog: () => undefined,
});
// What was on the queues of an earlier process is delivered again, as a queue that outlives its consumers does.
const client = new Client({ url: server.url });
const names = settings.names;
await requeue(client, DEFAULT_RUN, names, (name, messages) => server.enqueue(`test-${name}`, "ROLLOUTS", messages));
server.startCrons();
console.log(server.url.href);
