/** `npm run bench`: how fast the API takes groups in and hands batches out, if asked beside the stock server. */
import { availableParallelism, cpus } from "node:os";
import { fileURLToPath } from "node:url";
import { readOptions, wholeNumber } from "../cli/options.ts";
import { USAGE_EXIT_CODE } from "../cli/run-command.ts";
import { UsageError } from "../cli/usage-error.ts";
import { AddressError, readAddress } from "../src/client/address.ts";
import { Client } from "./load.ts";
import { asObject, asText, type Measured } from "./report.ts";
import {
  FULL,
  type Growth,
  makeSources,
  measureGrowth,
  measureRound,
  medianGrowth,
  QUICK,
  type Round,
  warmUp,
} from "./rounds.ts";
import { startLachesis } from "./servers/lachesis.ts";
import { residentBytes, runningServer, type Server } from "./servers/server.ts";
import { STOCK_PACKAGE, startStock } from "./servers/stock.ts";

const HELP = `usage: npm run bench -- [options]
  --against-stock  also measure the stock Python server, in turn, and print the ratios (needs python3)
  --rounds N       rounds to take the median of (default 5, with --quick 1)
  --quick          less work a round, and at most 10,000 groups queued
  --json           end with one object on one line
  --url URL        measure the server at URL instead of starting one; ITS RUN IS CLEARED`;

const OPTIONS = {
  "against-stock": { type: "boolean", default: false },
  json: { type: "boolean", default: false },
  quick: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
  rounds: { type: "string" },
  url: { type: "string" },
} as const;

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/** A server while it is measured. */
class Contestant {
  readonly name: string;
  readonly server: Server;
  readonly client: Client;
  readonly rounds: Round[] = [];
  /** One a pass. */
  readonly growth: Growth[] = [];
  /** Of the last pass, one a level. */
  queuedMemory: (number | null)[] = [];
  idleMemory: number | null = null;
  peakMemory: number | null = null;

  constructor(name: string, server: Server) {
    this.name = name;
    this.server = server;
    this.client = new Client(server.url);
  }

  async memory(): Promise<number | null> {
    return this.server.pid === null ? null : residentBytes(this.server.pid);
  }

  async observePeak(): Promise<void> {
    const bytes = await this.memory();
    if (bytes !== null) this.peakMemory = Math.max(bytes, this.peakMemory ?? 0);
  }

  measured(): Measured {
    const memory = { idle: this.idleMemory, peak: this.peakMemory, queued: this.queuedMemory };
    return { name: this.name, rounds: this.rounds, growth: medianGrowth(this.growth), memory };
  }

  async stop(): Promise<void> {
    this.client.close();
    await this.server.stop();
  }
}

async function main(): Promise<void> {
  const options = optionsOf(process.argv.slice(2));
  if (options.help) return console.log(HELP);
  for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(1));

  const contestants: Contestant[] = [];
  try {
    const server = options.url ? runningServer(options.url) : await startLachesis(ROOT);
    contestants.push(new Contestant("Lachesis", server));
    if (options.againstStock) contestants.push(new Contestant("stock", await startStock(ROOT, progress)));
    await measure(contestants, options);
  } finally {
    await Promise.all(contestants.map((contestant) => contestant.stop()));
  }

  const [ours, stock = null] = contestants.map((contestant) => contestant.measured());
  if (!ours) return;
  const cpu = cpus()[0]?.model.trim() ?? "unknown processor";
  const against = stock ? ` against ${STOCK_PACKAGE}` : "";
  console.log(`Lachesis${against}, ${cpu}, ${availableParallelism()} cores, Node ${process.version}`);
  console.log(asText(ours, stock));
  if (options.json) console.log(JSON.stringify(asObject(ours, stock)));
}

async function measure(
  contestants: readonly Contestant[],
  { rounds, quick }: { rounds: number; quick: boolean },
): Promise<void> {
  const work = quick ? QUICK : FULL;
  progress("making groups");
  const sources = makeSources();
  for (const contestant of contestants) {
    progress(`${contestant.name}: warming up`);
    contestant.idleMemory = await contestant.memory();
    await warmUp(contestant.client, sources, work);
  }
  for (let round = 0; round < rounds; round++) {
    for (const contestant of inTurn(contestants, round)) {
      progress(`${contestant.name}: round ${round + 1} of ${rounds}`);
      contestant.rounds.push(await measureRound(contestant.client, sources, work, () => contestant.observePeak()));
    }
  }
  for (let pass = 0; pass < work.growthPasses; pass++) {
    for (const contestant of inTurn(contestants, pass)) {
      progress(
        `${contestant.name}: up to ${work.growthLevels.at(-1)} groups queued, pass ${pass + 1} of ${work.growthPasses}`,
      );
      contestant.queuedMemory = [];
      contestant.growth.push(
        await measureGrowth(contestant.client, work, async () => {
          contestant.queuedMemory.push(await contestant.memory());
        }),
      );
    }
  }
}

/** Who goes first changes from round to round. */
function inTurn(contestants: readonly Contestant[], round: number): readonly Contestant[] {
  return round % 2 === 0 ? contestants : contestants.toReversed();
}

function optionsOf(args: string[]) {
  const values = readOptions(args, OPTIONS, HELP);
  return {
    ...values,
    againstStock: values["against-stock"],
    rounds: wholeNumber("--rounds", values.rounds ?? (values.quick ? "1" : "5"), 1, 1_000),
    url: values.url === undefined ? null : addressOf(values.url),
  };
}

/** The measured requests carry no token. The address isn't quoted: one may be in it. */
function addressOf(text: string): URL {
  try {
    const { url, token } = readAddress(text);
    if (token === undefined) return new URL(url);
  } catch (error) {
    if (error instanceof AddressError) throw new UsageError(`--url can't be used: ${error.message}`);
    throw error;
  }
  throw new UsageError(
    "--url can't be used: it holds a token, and the measured requests carry none; name a server that is open",
  );
}

function progress(message: string): void {
  console.error(`bench: ${message}`);
}

try {
  await main();
} catch (error) {
  console.error(error instanceof Error ? `bench: ${error.message}` : error);
  process.exitCode = error instanceof UsageError ? USAGE_EXIT_CODE : 1;
}
