import { writeFileSync } from "node:fs";
import { decimalNumber, readOptions, wholeNumber } from "../../cli/options.ts";
import { quote } from "../../cli/quote.ts";
import { runCommand } from "../../cli/run-command.ts";
import { UsageError } from "../../cli/usage-error.ts";
import { chaos } from "./campaign.ts";
import { MUTATIONS } from "./mutations.ts";
import { print } from "./print.ts";

const HELP = `usage: npm run chaos -- [--seed N] [--minutes M] [--mutation NAME] [--json] [--history FILE] [--log]

Runs environments, trainers and faults of all kinds against a server, and judges what they saw.
  --seed      which faults; default 1
  --minutes   how long; default 1, fractions too
  --mutation  a broken server, which must fail: ${Object.keys(MUTATIONS).join(", ")}
  --json      prints the verdict as JSON
  --history   writes what was seen to this file, as JSON
  --log       prints what the server logs`;

const OPTIONS = {
  seed: { type: "string", default: "1" },
  minutes: { type: "string", default: "1" },
  mutation: { type: "string" },
  json: { type: "boolean", default: false },
  history: { type: "string" },
  log: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

async function main(): Promise<void> {
  const values = readOptions(process.argv.slice(2), OPTIONS, HELP);
  if (values.help) return console.log(HELP);
  const seed = wholeNumber("--seed", values.seed, 0, 2 ** 31 - 1);
  const minutes = decimalNumber("--minutes", values.minutes, 0.01, 1_440);
  if (values.mutation !== undefined && !Object.hasOwn(MUTATIONS, values.mutation)) {
    const known = Object.keys(MUTATIONS).join(", ");
    throw new UsageError(`--mutation is ${quote(values.mutation)}; there are ${known}`);
  }
  // The server ends with this process, and its folder is removed at exit.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

  console.error(`seed ${seed}: ${minutes * 60} s of faults, then all is drained …`);
  const verdict = await chaos({
    seed,
    seconds: minutes * 60,
    mutation: values.mutation ?? null,
    ...(values.log ? { onLog: (line: string) => console.error(line) } : {}),
  });
  const { history, ...rest } = verdict;
  if (values.history !== undefined) writeFileSync(values.history, JSON.stringify(history));
  if (values.json) console.log(JSON.stringify(rest, null, 2));
  else print(rest);
  process.exit(verdict.passed ? 0 : 1);
}

await runCommand(main);
