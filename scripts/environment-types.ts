import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, relative } from "node:path";
import { experimental_generateTypes as generateTypes } from "wrangler";
import { readOptions } from "../cli/options.ts";
import { runCommand } from "../cli/run-command.ts";

/**
 * Writes environments/NAME/env.d.ts, the types of what each environment's wrangler.toml gives its Worker; with --check it
 * only says which are out of date. wrangler's own files declare a global Env, and a program can have just one of those.
 */

const HELP = `usage: node scripts/environment-types.ts [--check]

Writes environments/NAME/env.d.ts, the types of what each environment's wrangler.toml gives its Worker.

  --check  write nothing; say which are out of date`;

const OPTIONS = {
  check: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;

const ROOT = join(import.meta.dirname, "..");

/** The module of the bindings in a wrangler.toml. */
export async function environmentTypes(config: string): Promise<string> {
  const { env } = await generateTypes({
    config,
    includeRuntime: false,
    includeMainModule: false,
    // A variable may be deployed with another value than the file's.
    strictVars: false,
  });
  const [, bindings] = /^interface __BaseEnv_Env \{\n(.*?)^\}/ms.exec(env ?? "") ?? [];
  if (bindings === undefined) throw new Error(`wrangler found no bindings in ${config}`);
  return `// Generated from wrangler.toml by: npm run types\nexport interface Env {\n${bindings.replaceAll("\t", "  ")}}\n`;
}

/** The wrangler.toml of each environment. */
export function environmentConfigs(root = ROOT): string[] {
  const folder = join(root, "environments");
  return readdirSync(folder)
    .map((name) => join(folder, name, "wrangler.toml"))
    .filter((path) => existsSync(path));
}

async function main(): Promise<void> {
  const { check, help } = readOptions(process.argv.slice(2), OPTIONS, HELP);
  if (help) return console.log(HELP);
  for (const config of environmentConfigs()) {
    const path = join(config, "../env.d.ts");
    const types = await environmentTypes(config);
    if (existsSync(path) && readFileSync(path, "utf8") === types) continue;
    if (check) {
      console.error(`${relative(ROOT, path)} is not what ${relative(ROOT, config)} says: run npm run types`);
      process.exitCode = 1;
    } else {
      writeFileSync(path, types);
      console.log(`wrote ${relative(ROOT, path)}`);
    }
  }
}

if (import.meta.main) await runCommand(main);
