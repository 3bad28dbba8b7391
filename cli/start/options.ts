import { DEFAULT_RUN, runName } from "../../src/wire/names.ts";
import { readOptions, wholeNumber } from "../options.ts";
import { quote } from "../quote.ts";
import { environmentConfig } from "../server/worker.ts";
import { UsageError } from "../usage-error.ts";
import { type EnvironmentOptions, readEnvironments } from "./environments.ts";
import { type Generation, readGeneration } from "./generation.ts";

/** Where the stock server listens, so that clients need no other address. */
const DEFAULT_PORT = "8000";
export const DEFAULT_STATE = ".lachesis";

export const HELP = `usage: npm start -- [OPTION …]

Runs the whole loop on this machine: the trajectory API, environments, a tiny policy and a trainer that teaches it. Stop it
with Ctrl-C, or kill it; started again it goes on.

What runs:
  --environment NAME      an environment of environments/; repeat it for several (default: gsm8k)
  --config NAME=JSON      settings of an environment, on top of its preset; repeatable
  --preset NAME           preset of the environments (default: tiny with the tiny policy, else none)
  --group-size N          rollouts of an item, in all environments
  --no-trainer            the tiny policy is served, but nobody trains: bring your own trainer
  --inference URL         generate with this inference server instead of the tiny policy; bring your own trainer
  --model NAME            the model's name there
  --backend NAME          whose wire it speaks: vllm (default), sglang or openai
  --inference-secret NAME the environment variable that holds its API key; the name begins with INFERENCE_
  --api-only              the API alone

The reference trainer:
  --steps N               end after N steps; keeps no state, unless --state says where
  --seed N                of the policy and the items (default: 0)
  --learning-rate X       0 trains nothing (default: 0.003)
  --batch-size N          sequences of a batch (default: 64)
  --json                  lines of JSON on standard output, the last one with the mean rewards; all else on standard error

The server:
  --port N                port to listen on; 0 for any free one (default: ${DEFAULT_PORT})
  --host HOST             address to listen on (default: 127.0.0.1); any other needs --auth
  --state DIR             folder that keeps the state (default: ${DEFAULT_STATE})
  --fresh                 forget the state that is there; the secret of --auth stays
  --auth                  let in only who has a token: "npx lachesis token --role trainer" mints one
  --run RUN               the run (default: ${DEFAULT_RUN})
  --verbose               print what the Workers log`;

const OPTIONS = {
  environment: { type: "string", multiple: true },
  config: { type: "string", multiple: true },
  preset: { type: "string" },
  "group-size": { type: "string" },
  "no-trainer": { type: "boolean", default: false },
  inference: { type: "string" },
  model: { type: "string" },
  backend: { type: "string" },
  "inference-secret": { type: "string" },
  "api-only": { type: "boolean", default: false },
  steps: { type: "string" },
  seed: { type: "string" },
  "learning-rate": { type: "string" },
  "batch-size": { type: "string" },
  json: { type: "boolean", default: false },
  port: { type: "string", default: DEFAULT_PORT },
  host: { type: "string", default: "127.0.0.1" },
  state: { type: "string" },
  fresh: { type: "boolean", default: false },
  auth: { type: "boolean", default: false },
  run: { type: "string", default: DEFAULT_RUN },
  verbose: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

/** The options that shape what runs, as given. */
export type GivenOptions = ReturnType<typeof given>;

const given = (args: string[]) => readOptions(args, OPTIONS, HELP);

export interface StartOptions {
  readonly host: string;
  readonly port: number;
  /** Null for a temporary folder, gone when the command ends. */
  readonly state: string | null;
  readonly fresh: boolean;
  readonly auth: boolean;
  readonly run: string;
  readonly verbose: boolean;
  readonly json: boolean;
  readonly generation: Generation;
  readonly environments: readonly EnvironmentOptions[];
}

const LOOPBACK = new Set(["127.0.0.1", "localhost", "::1"]);

/**
 * Reads the command line. Null when help was asked for.
 * @param secrets where the value of --inference-secret is looked up: the process's environment.
 * @throws UsageError
 */
export function readStartOptions(
  args: string[],
  secrets: Readonly<Record<string, string | undefined>>,
): StartOptions | null {
  const options = given(args);
  if (options.help) return null;
  const port = wholeNumber("--port", options.port, 0, 65_535);
  if (!runName.safeParse(options.run).success)
    throw new UsageError(`--run is ${quote(options.run)}, which no run can be called`);
  if (!LOOPBACK.has(options.host) && !options.auth) {
    throw new UsageError(
      `--host ${quote(options.host)} lets other machines in: add --auth, so that only those with a token get in`,
    );
  }
  const generation = readGeneration(options, secrets);
  const isBounded = generation.kind === "reference" && generation.steps !== null;
  return {
    host: options.host,
    port,
    state: options.state ?? (isBounded ? null : DEFAULT_STATE),
    fresh: options.fresh,
    auth: options.auth,
    run: options.run,
    verbose: options.verbose,
    json: options.json,
    generation,
    environments: generation.kind === "none" ? [] : readEnvironments(options, generation, environmentConfig),
  };
}
