import { role } from "../../src/auth/roles.ts";
import { ANY_RUN, signToken } from "../../src/auth/token.ts";
import { DEFAULT_RUN, runName } from "../../src/wire/names.ts";
import { readOptions, wholeNumber } from "../options.ts";
import { quote } from "../quote.ts";
import { findSecret } from "../secret.ts";
import { UsageError } from "../usage-error.ts";

const HELP = `usage: lachesis token --role ROLE [--run RUN] [--days N]

Prints a token for one role in one run. It goes into a client as the password of the server's URL
(https://x:TOKEN@host/runs/RUN) or as "Authorization: Bearer TOKEN".

  --role ROLE    environment (registers, hands in groups), trainer (registers, takes batches, resets),
                 viewer (reads), admin (all of it)
  --run RUN      the run it is for; "${ANY_RUN}" for all (default: ${DEFAULT_RUN})
  --days N       how long it is valid (default: 30)
  --state DIR    where a server started with --auth keeps its secret (default: .lachesis)

The secret is AUTH_SECRET of the environment, else the one in the state folder. For a deployed server, use the secret
you gave it with "wrangler secret put AUTH_SECRET".`;

const DAY_SECONDS = 86_400;
const MAX_DAYS = 3_650;

const OPTIONS = {
  role: { type: "string" },
  run: { type: "string", default: DEFAULT_RUN },
  days: { type: "string", default: "30" },
  state: { type: "string", default: ".lachesis" },
  help: { type: "boolean", short: "h", default: false },
} as const;

/** Mints a token and prints it, alone, on standard output. */
export async function token(args: string[]): Promise<void> {
  const options = readOptions(args, OPTIONS, HELP);
  if (options.help) {
    console.log(HELP);
    return;
  }
  const who = role.safeParse(options.role);
  if (!who.success) {
    throw new UsageError(`--role is ${quote(options.role ?? "")}; give one of ${role.options.join(", ")}`);
  }
  if (options.run !== ANY_RUN && !runName.safeParse(options.run).success) {
    throw new UsageError(
      `--run is ${quote(options.run)}; a run's name has letters, digits, dots, dashes and underscores`,
    );
  }
  const days = wholeNumber("--days", options.days, 1, MAX_DAYS);
  const secret = findSecret(options.state);
  if (secret === null) {
    throw new UsageError(
      `no secret to sign with: set AUTH_SECRET, or name the --state folder of a server started with --auth (looked in ${options.state})`,
    );
  }
  if (secret.length < 32) throw new UsageError("AUTH_SECRET has fewer than 32 characters: no server takes it");
  const exp = Math.floor(Date.now() / 1000) + days * DAY_SECONDS;
  console.log(await signToken({ run: options.run, role: who.data, exp }, secret));
}
