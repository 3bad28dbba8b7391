import { type ParseArgsConfig, parseArgs } from "node:util";
import { UsageError } from "./usage-error.ts";

/**
 * Reads a command's options.
 * @throws UsageError that names an option it doesn't know, with the help text.
 */
export function readOptions<const T extends NonNullable<ParseArgsConfig["options"]>>(
  args: string[],
  options: T,
  help: string,
) {
  try {
    return parseArgs({ args, options, strict: true, allowPositionals: false }).values;
  } catch (error) {
    throw new UsageError(`${error instanceof Error ? error.message : String(error)}\n\n${help}`);
  }
}

/** @throws UsageError naming option, value and range. */
export function wholeNumber(option: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new UsageError(`${option} is ${JSON.stringify(value)}; give a whole number from ${min} to ${max}`);
  }
  return number;
}
