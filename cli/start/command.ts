import { Client } from "../../src/client/client.ts";
import { startServer } from "../server/local-server.ts";
import { endTogether, runtimePids } from "../server/processes.ts";
import { UsageError } from "../usage-error.ts";
import { Access } from "./access.ts";
import { greeting } from "./greeting.ts";
import { hold, release } from "./lock.ts";
import { HELP, readStartOptions, type StartOptions } from "./options.ts";
import { requeue } from "./requeue.ts";
import { type Generator, startGeneration } from "./start-generation.ts";
import { openState, type State } from "./state.ts";
import { StatusLine } from "./status-line.ts";
import { stopRequest } from "./stop-request.ts";

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
  const state = await openState(options.state, options.fresh);
  try {
    await run(options, state);
  } finally {
    state.close();
  }
}

async function run(options: StartOptions, state: State): Promise<void> {
  const out = options.json ? process.stderr : process.stdout;
  const stop = stopRequest();
  const access = new Access(options, state.folder);
  const environmentToken = await access.token("environment");
  const logged: { line: (text: string) => void } = { line: (text) => console.error(text) };
  const server = await startServer({
    host: options.host,
    port: options.port,
    state: state.folder,
    variables: access.variables,
    environments: options.environments.map(({ config, variables }) => ({
      config,
      variables: {
        ...variables,
        RUN: options.run,
        ...(environmentToken === undefined ? {} : { LACHESIS_TOKEN: environmentToken }),
      },
    })),
    onLog: (line) => {
      if (options.verbose || line.startsWith("error")) logged.line(line);
    },
  }).catch((error: unknown) => {
    throw portIsTaken(error)
      ? new UsageError(
          `port ${options.port} of ${options.host} is taken: stop what listens there, or give another --port`,
        )
      : error;
  });
  const callOff = endTogether(runtimePids());
  hold(state.folder, server.url);

  const url = server.url.href.replace(/\/$/, "");
  out.write(`${greeting({ options, url, state: state.name })}\n`);
  const steps = options.generation.kind === "reference" ? options.generation.steps : null;
  const client = new Client({ url: `${url}/runs/${options.run}`, token: await access.token("viewer"), attempts: 1 });
  const status = new StatusLine(client, options.run, steps, out);
  logged.line = (text) => status.log(text);
  status.start();

  const environments = options.environments.map(({ name }) => name);
  const environmentClient = new Client({ url: `${url}/runs/${options.run}`, token: environmentToken });
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
      onReady: () => void resume().catch((error: unknown) => status.log(`error: ${String(error)}`)),
    });
    const end = await Promise.race([stop.then(() => null), generator.ended]);
    if (end !== null) {
      process.exitCode = end.exitCode;
      status.log(end.message);
    }
  } finally {
    await generator?.stop();
    status.stop();
    out.write(options.state === null ? "stopping\n" : "stopping; the state is kept\n");
    callOff();
    await server.stop();
    release(state.folder);
  }
  generator.conclude();
}

function portIsTaken(error: unknown): boolean {
  return (
    error instanceof Error && /EADDRINUSE|Address already in use/i.test(`${error.message} ${String(error.cause ?? "")}`)
  );
}
