import { Client } from "../../src/client/client.ts";
import { abortedSoon } from "../aborted-soon.ts";
import { listenFault } from "../listening.ts";
import { type LocalServer, startServer } from "../server/local-server.ts";
import { Access } from "./access.ts";
import { greeting } from "./greeting.ts";
import { hold, release } from "./lock.ts";
import { HELP, readStartOptions, type StartOptions } from "./options.ts";
import { requeue } from "./requeue.ts";
import { assertSetUp } from "./set-up.ts";
import { type Generator, startGeneration } from "./start-generation.ts";
import { openState, type State } from "./state.ts";
import { StatusLine } from "./status-line.ts";
import { aborted, stopRequest } from "./stop-request.ts";

/** The queue of an environment's Worker. */
const QUEUE_BINDING = "ROLLOUTS";

/** Runs what the options name, in the foreground, until it is told to stop or the run has its steps. */
export async function start(args: string[]): Promise<void> {
  const options = readStartOptions(args, process.env);
  if (options === null) {
    console.log(HELP);
    return;
  }
  // Standard output is for a program then; what libraries print isn't.
  if (options.json) console.log = console.error;
  const stop = stopRequest();
  const state = await openState(options.state, options.fresh);
  try {
    await run(options, state, stop);
  } catch (error) {
    throw (await abortedSoon(stop)) ? stop.reason : error;
  } finally {
    state.close();
  }
}

/** @throws Stopped when it is told to stop before it is up, or before the run has the steps it was to have. */
async function run(options: StartOptions, state: State, stop: AbortSignal): Promise<void> {
  const out = options.json ? process.stderr : process.stdout;
  const access = new Access(options, state.folder);
  const logged: Logged = { line: (text) => console.error(text) };
  stop.throwIfAborted();
  const server = await serve(options, state, access, logged, stop);
  try {
    hold(state.folder, server.url);
    await generate({ options, state, access, server, logged, out, stop });
  } finally {
    out.write(options.state === null ? "stopping\n" : "stopping; the state is kept\n");
    await server.stop();
    release(state.folder);
  }
}

/** Where lines of the Workers go. */
interface Logged {
  line: (text: string) => void;
}

async function serve(
  { host, port, run, environments, verbose }: StartOptions,
  state: State,
  access: Access,
  logged: Logged,
  signal: AbortSignal,
): Promise<LocalServer> {
  const token = await access.token("environment");
  const own = { RUN: run, ...(token === undefined ? {} : { LACHESIS_TOKEN: token }) };
  let server: LocalServer | null = null;
  try {
    server = await startServer({
      host,
      port,
      state: state.folder,
      variables: access.variables,
      environments: environments.map(({ config, variables }) => ({ config, variables: { ...variables, ...own } })),
      onLog: (line) => {
        if (verbose || line.startsWith("error")) logged.line(line);
      },
      signal,
    });
    const names = environments.map(({ name }) => name);
    await assertSetUp(server, names);
    signal.throwIfAborted();
    return server;
  } catch (error) {
    await server?.stop();
    throw listenFault(error, { host, port }) ?? error;
  }
}

interface Session {
  readonly options: StartOptions;
  readonly state: State;
  readonly access: Access;
  readonly server: LocalServer;
  readonly logged: Logged;
  readonly out: NodeJS.WriteStream;
  readonly stop: AbortSignal;
}

/** Greets, and generates and trains until it ends or is told to stop. */
async function generate({ options, state, access, server, logged, out, stop }: Session): Promise<void> {
  const url = server.url.href.replace(/\/$/, "");
  out.write(`${greeting({ options, url, state: state.name })}\n`);
  const ofRun = `${url}/runs/${options.run}`;
  const steps = options.generation.kind === "reference" ? options.generation.steps : null;
  const status = new StatusLine(
    new Client({ url: ofRun, token: await access.token("viewer"), attempts: 1 }),
    options.run,
    steps,
    out,
  );
  logged.line = (text) => status.log(text);
  status.start();

  const environments = options.environments.map(({ name }) => name);
  const environmentClient = new Client({ url: ofRun, token: await access.token("environment") });
  /** Takes up generation where it was. */
  const resume = async () => {
    const count = await requeue(environmentClient, options.run, environments, (environment, messages) =>
      server.enqueue(server.workers[environments.indexOf(environment)] ?? environment, QUEUE_BINDING, messages),
    );
    if (count > 0) status.log(`${count} rollouts that were begun are taken up again`);
    server.startCrons();
  };
  let generator: Generator | null = null;
  try {
    generator = await startGeneration({
      options,
      url,
      token: await access.token("trainer"),
      checkpoints: state.checkpoints,
      status,
      onReady: () =>
        void resume().catch(async (error: unknown) => {
          if (!(await abortedSoon(stop))) status.log(`error: ${String(error)}`);
        }),
    });
    const stopped = aborted(stop).then(() => {
      if (steps !== null) throw stop.reason;
      return null;
    });
    const end = await Promise.race([stopped, generator.ended]);
    if (end !== null) {
      process.exitCode = end.exitCode;
      status.log(end.message);
    }
  } finally {
    await generator?.stop();
    status.stop();
    generator?.conclude();
  }
}
