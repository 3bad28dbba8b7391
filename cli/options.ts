import { type ParseArgsConfig, parseArgs } from "node:util";
import { mayHoldToken, quote } from "./quote.ts";
import { UsageError } from "./usage-error.ts";

type Options = NonNullable<ParseArgsConfig["options"]>;

/**
 * Reads a command's options.
 * @throws UsageError that names what is unknown, missing or too much, with the help text.
 */
export function readOptions<const T extends Options>(args: string[], options: T, help: string) {
  const { values, positionals } = readArguments(args, options, help);
  const [first] = positionals;
  if (first !== undefined) throw fault(`${named(first, args)} belongs to no option`, help);
  return values;
}

/**
 * As {@link readOptions}, for a command that takes words beside its options.
 * @throws UsageError
 */
export function readArguments<const T extends Options>(args: string[], options: T, help: string) {
  const normal = normalized(args, options, help);
  try {
    return parseArgs({ args: normal, options, strict: true, allowPositionals: true });
  } catch (error) {
    throw fault(error instanceof Error ? error.message : String(error), help);
  }
}

/** The arguments with every value joined to its option: Node takes `--seed -1` for two options, and explains that at length. */
function normalized(args: string[], options: Options, help: string): string[] {
  const { tokens } = parseArgs({ args, options, strict: false, allowPositionals: true, tokens: true });
  return tokens.map((token) => {
    if (token.kind === "positional") return token.value;
    if (token.kind === "option-terminator") return "--";
    const { name, rawName, value, inlineValue } = token;
    const option = Object.hasOwn(options, name) ? options[name] : undefined;
    if (option === undefined) throw fault(`there is no option ${rawName}`, help);
    if (option.type === "boolean") {
      if (value !== undefined) throw fault(`${rawName} takes no value`, help);
      return rawName;
    }
    if (value === undefined) throw fault(`${rawName} needs a value`, help);
    if (inlineValue === false && /^-(?!\.?\d)/.test(value)) {
      const shown = mayHoldToken(value) ? "VALUE" : value;
      const follower = mayHoldToken(value) ? named(value, args) : value;
      throw fault(
        `${rawName} needs a value, and is followed by ${follower}; if that is the value, give ${rawName}=${shown}`,
        help,
      );
    }
    // By its long name: Node takes `-k=value` for the value `=value`.
    return `--${name}=${value}`;
  });
}

/** An argument, by its place where it may hold a token: an address whose option was forgotten, for instance. */
function named(argument: string, args: readonly string[]): string {
  return mayHoldToken(argument) ? `argument ${args.indexOf(argument) + 1}` : JSON.stringify(argument);
}

function fault(what: string, help: string): UsageError {
  return new UsageError(`${what}\n\n${help}`);
}

/** @throws UsageError naming option, value and range. */
export function wholeNumber(option: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (!/^\d+$/.test(value) || number < min || number > max) {
    throw new UsageError(`${option} is ${quote(value)}; give a whole number from ${min} to ${max}`);
  }
  return number;
}

/** @throws UsageError naming option, value and range. */
export function decimalNumber(option: string, value: string, min: number, max: number): number {
  const number = Number(value);
  if (value.trim() === "" || !(number >= min && number <= max)) {
    throw new UsageError(`${option} is ${quote(value)}; give a number from ${min} to ${max}`);
  }
  return number;
}
