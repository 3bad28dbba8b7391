import { resolve } from "node:path";
import { signToken } from "../../src/auth/token.ts";
import { Client } from "../../src/client/client.ts";
import { DEFAULT_RUN, runName } from "../../src/wire/names.ts";
import { readOptions, wholeNumber } from "../options.ts";
import { findOrMakeSecret } from "../secret.ts";
import { startServer } from "../server/local-server.ts";
import { endTogether, runtimePids } from "../server/processes.ts";
import { UsageError } from "../usage-error.ts";
import { assertFree, hold, release } from "./lock.ts";
import { StatusLine } from "./status-line.ts";

/** Where the stock server listens, so that clients need no other address. */
const DEFAULT_PORT = "8000";

const HELP = `usage: npm start -- [OPTION …]

Runs the trajectory API on this machine. Its state is kept: stop it with Ctrl-C, or kill it, and start it again.

  --port N       port to listen on; 0 for any free one (default: ${DEFAULT_PORT})
  --host HOST    address to listen on (default: 127.0.0.1); any other needs --auth
  --state DIR    folder that keeps the state (default: .lachesis)
  --auth         let in only who has a token: "npx lachesis token --role trainer" mints one
  --run RUN      the run the status line follows (default: ${DEFAULT_RUN})
  --api-only     the API alone; that is all there is for now
  --verbose      print what the Workers log`;

const OPTIONS = {
  port: { type: "string", default: DEFAULT_PORT },
  host: { type: "string", default: "127.0.0.1" },
  state: { type: "string", default: ".lachesis" },
  auth: { type: "boolean", default: false },
  run: { type: "string", default: DEFAULT_RUN },
  "api-only": { type: "boolean", default: false },
  verbose: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

const LOOPBACK = new Set(["127.0.0.1", "localhost", "::1"]);

/** Runs the API in the foreground until it is told to stop. */
export async function start(args: string[]): Promise<void> {
  const options = readOptions(args, OPTIONS, HELP);
  if (options.help) {
    console.log(HELP);
    return;
  }
  const port = wholeNumber("--port", options.port, 0, 65_535);
  if (!runName.safeParse(options.run).success)
    throw new UsageError(`--run is ${JSON.stringify(options.run)}, which no run can be called`);
  if (!LOOPBACK.has(options.host) && !options.auth) {
    throw new UsageError(
      `--host ${options.host} lets other machines in: add --auth, so that only those with a token get in`,
    );
  }
  const state = resolve(options.state);
  await assertFree(state);
  const secret = options.auth ? findOrMakeSecret(state) : null;

  const logged: { line: (text: string) => void } = { line: (text) => console.error(text) };
  const server = await startServer({
    host: options.host,
    port,
    state,
    variables: secret === null ? { ALLOW_ANONYMOUS: "true" } : { AUTH_SECRET: secret },
    onLog: (line) => {
      if (options.verbose || line.startsWith("error")) logged.line(line);
    },
  }).catch((error: unknown) => {
    throw portIsTaken(error)
      ? new UsageError(`port ${port} of ${options.host} is taken: stop what listens there, or give another --port`)
      : error;
  });
  const callOff = endTogether(runtimePids());
  hold(state, server.url);

  const token = secret === null ? undefined : await viewerToken(options.run, secret);
  const url = server.url.href.replace(/\/$/, "");
  console.log(greeting(url, options.state, options.auth));
  const status = new StatusLine(new Client({ url: `${url}/runs/${options.run}`, token }), options.run, process.stdout);
  logged.line = (text) => status.log(text);
  status.start();

  await stopSignal();
  status.stop();
  console.log("stopping; the state is kept");
  callOff();
  await server.stop();
  release(state);
}

function greeting(url: string, state: string, auth: boolean): string {
  const access = auth
    ? `by token: npx lachesis token --role trainer (or environment, viewer, admin)${state === ".lachesis" ? "" : ` --state ${state}`}`
    : "open to this machine; --auth asks for tokens";
  return `Lachesis is up at ${url}
  state      ${state}
  access     ${access}
  reference  ${url}/docs

Try next:
  curl '${url}/status?explain'                 why no batch is ready
  an Atropos environment:  --env.rollout_server_url ${url}
  an Atropos trainer:      ${url} as its API URL; other runs are at ${url}/runs/NAME
Ctrl-C stops it.
`;
}

/** Valid for as long as the process may live. */
function viewerToken(run: string, secret: string): Promise<string> {
  return signToken({ run, role: "viewer", exp: Math.floor(Date.now() / 1000) + 10 * 365 * 86_400 }, secret);
}

function portIsTaken(error: unknown): boolean {
  return (
    error instanceof Error && /EADDRINUSE|Address already in use/i.test(`${error.message} ${String(error.cause ?? "")}`)
  );
}

function stopSignal(): Promise<void> {
  return new Promise((resolvePromise) => {
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.once(signal, () => resolvePromise());
  });
}
