import { parseArgs } from "node:util";
import { check, finish } from "../system/checks.ts";
import { mutations, soundServer } from "./suite.ts";

const { values } = parseArgs({
  options: {
    seed: { type: "string", default: "1" },
    /** Of the campaign against the sound server. */
    seconds: { type: "string", default: "60" },
    /** Of each one against a broken server. */
    "mutation-seconds": { type: "string", default: "25" },
  },
});

for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => process.exit(130));

const seed = Number(values.seed);
const failed = (error: unknown) =>
  check("the campaigns run", false, error instanceof Error ? (error.stack ?? error.message) : String(error));
await soundServer(seed, Number(values.seconds)).catch(failed);
await mutations(seed, Number(values["mutation-seconds"])).catch(failed);
finish();
