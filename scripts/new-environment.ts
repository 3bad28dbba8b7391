import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative, resolve } from "node:path";
import { unstable_readConfig as readConfig } from "wrangler";
import { readArguments } from "../cli/options.ts";
import { quote } from "../cli/quote.ts";
import { runCommand } from "../cli/run-command.ts";
import { UsageError } from "../cli/usage-error.ts";
import { environmentTypes } from "./environment-types.ts";

const ROOT = join(import.meta.dirname, "..");
const TEMPLATE = join(import.meta.dirname, "environment-template");
const SUFFIX = ".template";

const HELP = `usage: npm run new-environment NAME [-- --into DIR]

Writes environments/NAME: an environment that works, with its test, for you to put your own task in.

  NAME        a letter, then up to 46 letters, digits or dashes, all lower case
  --into DIR  folder to put it into (default: environments)`;

const OPTIONS = { into: { type: "string" }, help: { type: "boolean", short: "h", default: false } } as const;

/** Workers and queues are called lachesis-NAME and lachesis-NAME-failed, in 63 characters. */
const NAME = /^[a-z][a-z0-9-]{0,46}$/;

/**
 * Writes a new environment. Returns its folder and the files in it.
 * @throws UsageError for a name that can't be or is taken
 */
async function newEnvironment(name: string, into: string): Promise<{ folder: string; files: string[] }> {
  if (!NAME.test(name) || name.endsWith("-")) {
    throw new UsageError(
      `an environment can't be called ${quote(name)}: give a letter, then up to 46 letters, digits or dashes, all lower case`,
    );
  }
  const folder = join(into, name);
  if (existsSync(folder)) throw new UsageError(`${shown(folder)} is there already: choose another name, or remove it`);
  const { compatibility_date = "", compatibility_flags } = readConfig({ config: join(ROOT, "wrangler.toml") });
  const values: Readonly<Record<string, string>> = {
    name,
    kit: relative(folder, join(ROOT, "environments/kit")),
    date: compatibility_date,
    flags: JSON.stringify(compatibility_flags),
  };
  mkdirSync(folder, { recursive: true });
  const files = readdirSync(TEMPLATE).map((template) => {
    const file = template.slice(0, -SUFFIX.length);
    const text = readFileSync(join(TEMPLATE, template), "utf8");
    writeFileSync(
      join(folder, file),
      text.replaceAll(/\{\{(\w+)\}\}/g, (_, key: string) => values[key] ?? ""),
    );
    return file;
  });
  writeFileSync(join(folder, "env.d.ts"), await environmentTypes(join(folder, "wrangler.toml")));
  return { folder, files: [...files, "env.d.ts"].toSorted() };
}

function shown(folder: string): string {
  return relative(ROOT, folder) || folder;
}

async function main(): Promise<void> {
  const { values, positionals } = readArguments(process.argv.slice(2), OPTIONS, HELP);
  const [name, ...more] = positionals;
  if (values.help) return console.log(HELP);
  if (name === undefined || more.length > 0) throw new UsageError(HELP);
  const into = values.into === undefined ? join(ROOT, "environments") : resolve(values.into);
  const { folder, files } = await newEnvironment(name, into);
  console.log(`${shown(folder)} is made: ${files.join(", ")}

Next:
  npx vitest run --project node ${shown(folder)}    its test, which passes
  npm start -- --environment ${name}    run it here
  ${shown(folder)}/environment.ts    put your task in: items, prompt, score
  docs/ENVIRONMENTS.md    what else an environment can do
  ${shown(folder)}/README.md    how to deploy it`);
}

await runCommand(main);
