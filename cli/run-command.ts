import { UsageError } from "./usage-error.ts";

/** What shells and tools use for a mistake on the command line. */
export const USAGE_EXIT_CODE = 2;

/** Runs a command to its end. What the person at the keyboard can put right is told without a stack, and gives exit code 2. */
export async function runCommand(command: () => Promise<void>): Promise<void> {
  try {
    await command();
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    console.error(error.message);
    process.exitCode = USAGE_EXIT_CODE;
  }
}
