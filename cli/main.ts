import { quote } from "./quote.ts";
import { USAGE_EXIT_CODE } from "./run-command.ts";
import { Stopped } from "./start/stop-request.ts";
import { UsageError } from "./usage-error.ts";

const COMMANDS: Readonly<Record<string, () => Promise<(args: string[]) => Promise<void>>>> = {
  start: async () => (await import("./start/command.ts")).start,
  token: async () => (await import("./token/command.ts")).token,
};

const HELP = `usage: lachesis COMMAND [OPTION …]

  start   run the trajectory API on this machine
  token   mint a token for an environment, a trainer, a viewer or an admin

lachesis COMMAND --help tells a command's options.`;

const [name = "--help", ...args] = process.argv.slice(2);
const command = Object.hasOwn(COMMANDS, name) ? COMMANDS[name] : undefined;
if (command === undefined) {
  const isHelp = name === "--help" || name === "-h" || name === "help";
  console[isHelp ? "log" : "error"](isHelp ? HELP : `there is no such command: ${quote(name)}\n\n${HELP}`);
  process.exit(isHelp ? 0 : USAGE_EXIT_CODE);
}
try {
  await (await command())(args);
} catch (error) {
  if (error instanceof Stopped) {
    // Not at once: what was printed may be on its way still.
    process.exitCode = error.exitCode;
  } else if (error instanceof UsageError) {
    console.error(error.message);
    process.exit(USAGE_EXIT_CODE);
  } else {
    throw error;
  }
}
