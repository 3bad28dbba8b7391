import { decimalNumber, readOptions, wholeNumber } from "../../cli/options.ts";
import { runCommand } from "../../cli/run-command.ts";
import { check, finish } from "../system/checks.ts";
import { mutations, soundServer } from "./suite.ts";

const HELP = `usage: npm run test:chaos -- [--seed N] [--seconds N] [--mutation-seconds N]

  --seed              which faults; default 1
  --seconds           of each of the two campaigns against the sound server: one that tells requests by their contents, and
                      one that doesn't; default 45
  --mutation-seconds  of each one against a broken server; default 25`;

const OPTIONS = {
  seed: { type: "string", default: "1" },
  seconds: { type: "string", default: "45" },
  "mutation-seconds": { type: "string", default: "25" },
  help: { type: "boolean", short: "h", default: false },
} as const;

async function main(): Promise<void> {
  const values = readOptions(process.argv.slice(2), OPTIONS, HELP);
  if (values.help) return console.log(HELP);
  const seed = wholeNumber("--seed", values.seed, 0, 2 ** 31 - 2);
  const seconds = decimalNumber("--seconds", values.seconds, 1, 86_400);
  const mutationSeconds = decimalNumber("--mutation-seconds", values["mutation-seconds"], 1, 86_400);
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

  const failed = (error: unknown) =>
    check("the campaigns run", false, error instanceof Error ? (error.stack ?? error.message) : String(error));
  for (const each of [seed, seed + 1]) await soundServer(each, seconds).catch(failed);
  await mutations(seed, mutationSeconds).catch(failed);
  finish();
}

await runCommand(main);
