import { dirname } from "node:path";
import { build, type Loader } from "esbuild";

/** A rule of wrangler.toml: modules with these endings are of this type. */
export interface ModuleRule {
  readonly type: string;
  readonly include?: readonly string[] | undefined;
}

/** What wrangler makes of a file that a rule names, in esbuild's words. */
const LOADERS: Readonly<Record<string, Loader>> = { Text: "text", ESModule: "js" };

/**
 * Bundles a Worker into one module, its text files included.
 * @param main absolute path of the entry file.
 */
export async function bundle(main: string, rules: readonly ModuleRule[]): Promise<string> {
  const { outputFiles } = await build({
    absWorkingDir: dirname(main),
    entryPoints: [main],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    loader: loaders(rules),
    sourcemap: "inline",
    logLevel: "silent",
  });
  const [output] = outputFiles;
  if (output === undefined) throw new Error(`bundling ${main} gave nothing`);
  return output.text;
}

/** esbuild chooses by a file's ending; so rules for whole endings are all that can be honoured. The first rule wins. */
export function loaders(rules: readonly ModuleRule[]): Record<string, Loader> {
  const found: Record<string, Loader> = {};
  for (const { type, include = [] } of rules) {
    for (const glob of include) {
      const ending = /^\*\*\/\*(\.\w+)$/.exec(glob)?.[1];
      const loader = LOADERS[type];
      if (ending !== undefined && loader !== undefined) found[ending] ??= loader;
    }
  }
  return found;
}
