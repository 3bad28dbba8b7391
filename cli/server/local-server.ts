import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import { convertV4MiniflareOptions, Log, LogLevel, Miniflare } from "miniflare";
import { unstable_getMiniflareWorkerOptions } from "wrangler";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const API = "lachesis";

export interface ServerOptions {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** Folder that keeps the objects' databases; null keeps them in memory. */
  readonly state: string | null;
  /** Variables and secrets on top of wrangler.toml's. */
  readonly variables: Readonly<Record<string, string>>;
  /** A line that the Workers logged. */
  readonly onLog: (line: string) => void;
}

export interface LocalServer {
  readonly url: URL;
  stop(): Promise<void>;
}

/**
 * Runs the Workers as wrangler.toml describes them, in Miniflare and on a socket of their own: `wrangler dev` puts proxies
 * in between, which cap at a tenth of the rate.
 * @throws when the port is taken.
 */
export async function startServer({ host, port, state, variables, onLog }: ServerOptions): Promise<LocalServer> {
  const { workerOptions, main } = unstable_getMiniflareWorkerOptions(`${ROOT}/wrangler.toml`);
  if (main === undefined) throw new Error("wrangler.toml names no main");
  const script = await bundle(main);
  const listenersBefore = signalListeners();
  const miniflare = new Miniflare(
    convertV4MiniflareOptions({
      workers: [
        {
          ...workerOptions,
          name: API,
          modules: [{ type: "ESModule", path: "index.mjs", contents: script }],
          bindings: { ...Object(workerOptions["bindings"]), ...variables },
          unsafeDirectSockets: [{ host, port }],
        },
      ],
      host: "127.0.0.1",
      port: 0,
      log: new Log(LogLevel.ERROR),
      telemetry: { enabled: false },
      ...(state === null ? {} : { resourcePersistencePath: state }),
      handleStructuredLogs: ({ level, message }) => onLog(`${level}: ${message}`),
    }),
  );
  await miniflare.ready;
  // Miniflare ends the process at a signal, in the middle of whatever else is done about it. Who started it decides here.
  for (const [signal, listener] of signalListeners()) {
    if (!listenersBefore.some(([, known]) => known === listener)) process.removeListener(signal, listener);
  }
  const url = await miniflare.unsafeGetDirectURL(API);
  return { url, stop: () => miniflare.dispose() };
}

function signalListeners(): [NodeJS.Signals, NodeJS.SignalsListener][] {
  const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;
  return signals.flatMap((signal) =>
    process.listeners(signal).map((listener): [NodeJS.Signals, NodeJS.SignalsListener] => [signal, listener]),
  );
}

async function bundle(main: string): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: ROOT,
    entryPoints: [main],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    sourcemap: "inline",
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`bundling ${main} gave nothing`);
  return output.text;
}
