import { readFileSync } from "node:fs";
import { join } from "node:path";
import { build, type Plugin } from "esbuild";
import type { Edit } from "../mutations.ts";

const ROOT = join(import.meta.dirname, "../../..");
const ENTRY = join(import.meta.dirname, "../worker/entry.ts");

/**
 * The server with the campaign's doors, as one module.
 * @throws when an edit doesn't fit the source any more.
 */
export async function bundle(edits: readonly Edit[]): Promise<string> {
  const applied = new Set<Edit>();
  const { outputFiles } = await build({
    entryPoints: [ENTRY],
    bundle: true,
    write: false,
    format: "esm",
    target: "es2024",
    conditions: ["workerd", "worker", "browser"],
    external: ["cloudflare:*", "node:*"],
    logLevel: "silent",
    plugins: [mutate(edits, applied)],
  });
  for (const edit of edits) if (!applied.has(edit)) throw new Error(`${edit.file} is not part of the server any more`);
  const [output] = outputFiles;
  if (output === undefined) throw new Error("bundling the server gave nothing");
  return output.text;
}

function mutate(edits: readonly Edit[], applied: Set<Edit>): Plugin {
  return {
    name: "mutate",
    setup: (builder) => {
      for (const [path, ofFile] of Map.groupBy(edits, ({ file }) => join(ROOT, file))) {
        const filter = new RegExp(`^${path.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}$`);
        builder.onLoad({ filter }, () => {
          const contents = ofFile.reduce(
            (source, edit) => {
              applied.add(edit);
              return applyEdit(source, edit);
            },
            readFileSync(path, "utf8"),
          );
          return { contents, loader: "ts" };
        });
      }
    },
  };
}

/** @throws when the piece doesn't stand in the source exactly once. */
export function applyEdit(source: string, { file, find, replace }: Edit): string {
  const pieces = source.split(find);
  if (pieces.length === 2) return pieces.join(replace);
  throw new Error(
    `${file} has ${pieces.length - 1} times, not once, ${JSON.stringify(find)}: bring test/chaos/mutations.ts up to date`,
  );
}
