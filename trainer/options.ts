import { decimalNumber, readOptions, wholeNumber } from "../cli/options.ts";
import { quote } from "../cli/quote.ts";
import { UsageError } from "../cli/usage-error.ts";
import { AddressError, readAddress } from "../src/client/address.ts";
import { DEFAULT_RUN, runName } from "../src/wire/names.ts";
import { newEndpoint } from "../src/wire/rollouts.ts";

export const HELP = `usage: npm run trainer -- --url URL [OPTION …]

Serves a tiny policy and trains it with GRPO on a run's batches, over the public API alone. What happens is told as lines
of JSON on standard output.

  --url URL                       the server, without /runs/RUN; a password in it (https://x:TOKEN@host) is the token
  --run RUN                       the run to train in (default: ${DEFAULT_RUN})
  --steps N                       the step at which the run ends (default: 1000000)
  --seed N                        of the policy (default: 0)
  --learning-rate X               of AdamW; 0 trains nothing (default: 0.003)
  --batch-size N                  sequences of a batch (default: 64)
  --max-token-length N            longest sequence (default: 1024)
  --max-batches-offpolicy N       bound on queued and leased groups, in batches (default: 2)
  --max-staleness N               drop groups that are older than N steps (default: no bound)
  --checkpoint-dir DIR            keep checkpoints there (default: none are kept)
  --save-checkpoint-interval N    batches between checkpoints (default: 1)
  --fresh                         don't go on from a checkpoint that is there
  --host HOST                     address the policy is served on (default: 127.0.0.1)
  --port N                        and its port; 0 for any free one (default: 9004)
  --public-url URL                how environments reach it (default: http://HOST:PORT)
  --serve-only                    serve the policy and publish its address, but train nothing

The token (role trainer) is taken from the environment variable LACHESIS_TOKEN, or else from the URL. By default it goes on
from the checkpoint of the same run; one that was made with other settings is an error.`;

const OPTIONS = {
  url: { type: "string" },
  run: { type: "string", default: DEFAULT_RUN },
  steps: { type: "string", default: "1000000" },
  seed: { type: "string", default: "0" },
  "learning-rate": { type: "string", default: "0.003" },
  "batch-size": { type: "string", default: "64" },
  "max-token-length": { type: "string", default: "1024" },
  "max-batches-offpolicy": { type: "string", default: "2" },
  "max-staleness": { type: "string" },
  "checkpoint-dir": { type: "string" },
  "save-checkpoint-interval": { type: "string", default: "1" },
  fresh: { type: "boolean", default: false },
  host: { type: "string", default: "127.0.0.1" },
  port: { type: "string", default: "9004" },
  "public-url": { type: "string" },
  "serve-only": { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

export interface TrainerOptions {
  /** Without user and password. */
  readonly url: string;
  readonly token: string | undefined;
  readonly run: string;
  readonly steps: number;
  readonly seed: number;
  readonly learningRate: number;
  readonly batchSize: number;
  readonly maxTokenLength: number;
  readonly maxBatchesOffpolicy: number;
  readonly maxStaleness: number | null;
  readonly checkpoints: string | null;
  readonly checkpointInterval: number;
  readonly resume: boolean;
  readonly host: string;
  readonly port: number;
  readonly publicUrl: string | null;
  readonly serveOnly: boolean;
}

/**
 * Reads the command line. Null when help was asked for.
 * @param token of the environment; wins over one in the URL.
 * @throws UsageError
 */
export function readTrainerOptions(args: string[], token?: string): TrainerOptions | null {
  const values = readOptions(args, OPTIONS, HELP);
  if (values.help) return null;
  const { run } = values;
  if (values.url === undefined) throw new UsageError("--url is missing: give the address of the server");
  if (!runName.safeParse(run).success) throw new UsageError(`--run is ${quote(run)}, which no run can be called`);
  const staleness = values["max-staleness"];
  return {
    ...server(values.url, token),
    run,
    steps: whole("--steps", values.steps, 1),
    seed: whole("--seed", values.seed, 0),
    learningRate: decimalNumber("--learning-rate", values["learning-rate"], 0, 1),
    batchSize: whole("--batch-size", values["batch-size"], 1, 65_536),
    maxTokenLength: whole("--max-token-length", values["max-token-length"], 8, 65_536),
    maxBatchesOffpolicy: whole("--max-batches-offpolicy", values["max-batches-offpolicy"], 1),
    maxStaleness: staleness === undefined ? null : whole("--max-staleness", staleness, 0),
    checkpoints: values["checkpoint-dir"] ?? null,
    checkpointInterval: whole("--save-checkpoint-interval", values["save-checkpoint-interval"], 1),
    resume: !values.fresh,
    host: values.host,
    port: whole("--port", values.port, 0, 65_535),
    publicUrl: values["public-url"] === undefined ? null : publicUrl(values["public-url"]),
    serveOnly: values["serve-only"],
  };
}

/** Its errors don't quote the address: a token may be in it. */
function server(address: string, token: string | undefined) {
  try {
    return readAddress(address, token);
  } catch (error) {
    throw error instanceof AddressError ? new UsageError(`--url can't be used: ${error.message}`) : error;
  }
}

/** What the server would refuse later, in its words. */
function publicUrl(address: string): string {
  const read = newEndpoint.safeParse({ url: address, model: "tiny" });
  if (read.success) return address;
  throw new UsageError(`--public-url can't be used: ${read.error.issues.map(({ message }) => message).join("; ")}`);
}

function whole(option: string, text: string, min: number, max = 1_000_000_000): number {
  return wholeNumber(option, text, min, max);
}
