import { parseArgs } from "node:util";
import { check, finish } from "../system/checks.ts";
import { mutations, soundServer } from "./suite.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    /** Of each of the two campaigns against the sound server: one that tells requests by their contents, and one that doesn't. */
    seconds: { type: "string", default: "45" },
    /** Of each one against a broken server. */
    "mutation-seconds": { type: "string", default: "25" },
  },
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

const seed = Number(values.seed);
const failed = (error: unknown) =>
  check("the campaigns run", false, error instanceof Error ? (error.stack ?? error.message) : String(error));
for (const each of [seed, seed + 1]) await soundServer(each, Number(values.seconds)).catch(failed);
await mutations(seed, Number(values["mutation-seconds"])).catch(failed);
finish();
