import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { startCrons } from "./crons.ts";
import { guardRuntimes } from "./processes.ts";
import { withoutSignalListeners } from "./signal-listeners.ts";
import { API_CONFIG, loadWorker, type WorkerSource } from "./worker.ts";

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** Folder that keeps the objects' databases; null keeps them in memory. */
  readonly state: string | null;
  /** Variables and secrets of the API on top of wrangler.toml's. */
  readonly variables: Readonly<Record<string, string>>;
  /** Workers that run beside the API and bind it as a service. */
  readonly environments?: readonly WorkerSource[];
  /** A line that the Workers logged. */
  readonly onLog: (line: string) => void;
  /** Gives the start up when it is aborted; after that, what crons fail at is no news. */
  readonly signal?: AbortSignal;
}

export interface LocalServer {
  readonly url: URL;
  /** Names of the environments' Workers, in the order they were given. */
  readonly workers: readonly string[];
  /** Fires the crons of all Workers, at once and from now on, as their wrangler.toml says. */
  startCrons(): void;
  /** Puts messages on a queue, by its binding in a Worker. */
  enqueue(worker: string, binding: string, messages: readonly unknown[]): Promise<void>;
  /** What a Worker answers to a GET. @throws when it has no fetch handler, or that throws. */
  get(worker: string, path: string): Promise<{ readonly status: number; readonly text: string }>;
  stop(): Promise<void>;
}

/**
 * Runs the Workers as their wrangler.toml describe them, in Miniflare, and the API on a socket of its own: `wrangler dev`
 * puts proxies in between, which cap at a tenth of the rate. The runtime ends with this process, however that ends.
 * @throws when host or port can't be listened on; the signal's reason. Nothing is left running then.
 */
export async function startServer(options: ServerOptions): Promise<LocalServer> {
  const { host, port, state, variables, environments = [], onLog, signal } = options;
  const api = await loadWorker({ config: API_CONFIG, variables });
  const others = await Promise.all(environments.map(loadWorker));
  signal?.throwIfAborted();
  const miniflareOptions = convertV4MiniflareOptions({
    workers: [{ ...api.options, unsafeDirectSockets: [{ host, port }] }, ...others.map((worker) => worker.options)],
    host: "127.0.0.1",
    port: 0,
    log: new Log(LogLevel.ERROR),
    telemetry: { enabled: false },
    ...(state === null ? {} : { resourcePersistencePath: state }),
    // The runtime spreads what a Worker logs as an object over many lines.
    handleStructuredLogs: ({ level, message }) => onLog(`${level}: ${message.replace(/\s*\n\s+|\n(?=})/g, " ")}`),
  });
  const callOffGuard = guardRuntimes();
  const miniflare = withoutSignalListeners(() => new Miniflare(miniflareOptions));
  try {
    await miniflare.ready;
    signal?.throwIfAborted();
  } catch (error) {
    // It tells again why it didn't start.
    await miniflare.dispose().catch(() => undefined);
    callOffGuard();
    throw error;
  }
  const url = await miniflare.unsafeGetDirectURL(api.name);
  const jobs = [api, ...others].map(({ name, crons }) => ({
    worker: name,
    crons,
    fire: async (cron: string, scheduledTime: Date) => {
      const { outcome } = await (await miniflare.getWorker(name)).scheduled({ cron, scheduledTime });
      if (outcome !== "ok") throw new Error(`its outcome is ${outcome}`);
    },
  }));
  let stopCrons = (): void => undefined;
  return {
    url,
    workers: others.map(({ name }) => name),
    startCrons: () => {
      stopCrons();
      stopCrons = startCrons(jobs, onLog, signal);
    },
    enqueue: async (worker, binding, messages) => {
      const queue = await miniflare.getQueueProducer(binding, worker);
      await queue.sendBatch(messages.map((body) => ({ body, contentType: "json" as const })));
    },
    get: async (worker, path) => {
      const response = await (await miniflare.getWorker(worker)).fetch(new URL(path, "http://worker"));
      return { status: response.status, text: await response.text() };
    },
    stop: async () => {
      stopCrons();
      // The guard last: until the runtime is gone, this process may be killed.
      await miniflare.dispose().finally(callOffGuard);
    },
  };
}
