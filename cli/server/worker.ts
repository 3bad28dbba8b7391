import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { unstable_getMiniflareWorkerOptions, unstable_readConfig } from "wrangler";
import { z } from "zod";
import { quote } from "../quote.ts";
import { UsageError } from "../usage-error.ts";
import { bundle } from "./bundle.ts";
import { withoutSignalListeners } from "./signal-listeners.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A Worker of this project and what it gets beside its wrangler.toml. */
export interface WorkerSource {
  /** Its wrangler.toml. */
  readonly config: string;
  /** Variables and secrets on top of wrangler.toml's. */
  readonly variables: Readonly<Record<string, string>>;
}

export const API_CONFIG = join(ROOT, "wrangler.toml");

/** Names of the environments that are Workers: the folders with a wrangler.toml. */
export function environmentNames(): string[] {
  const folder = join(ROOT, "environments");
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .filter((name) => existsSync(join(folder, name, "wrangler.toml")))
    .toSorted();
}

/** @throws UsageError that lists the environments there are. */
export function environmentConfig(name: string): string {
  const names = environmentNames();
  if (!names.includes(name)) {
    throw new UsageError(`--environment is ${quote(name)}; there are ${names.join(", ") || "none"}`);
  }
  return join(ROOT, "environments", name, "wrangler.toml");
}

const named = z.looseObject({ name: z.string() });

/** What of Miniflare's options is looked into; wrangler doesn't type them. */
const looked = z.looseObject({
  modulesRules: z.array(z.object({ type: z.string(), include: z.array(z.string()) })).default([]),
  cronTriggers: z.array(z.string()).default([]),
  bindings: z.record(z.string(), z.json()).default({}),
});

/** What a wrangler.toml says. @throws Error when it names no main. */
export function readWorker(config: string) {
  const { name, workerOptions, main } = withoutSignalListeners(() => ({
    ...named.parse(unstable_readConfig({ config })),
    ...unstable_getMiniflareWorkerOptions(config),
  }));
  if (main === undefined) throw new Error(`${config} names no main`);
  return { name, workerOptions, main };
}

/** A Worker as Miniflare takes it, and its crons. */
export async function loadWorker({ config, variables }: WorkerSource) {
  const { name, workerOptions, main } = readWorker(config);
  const { modulesRules, cronTriggers, bindings } = looked.parse(workerOptions);
  const { modulesRules: _, ...rest } = workerOptions;
  const script = await bundle(main, modulesRules);
  return {
    name,
    crons: cronTriggers,
    options: {
      ...rest,
      name,
      modules: [{ type: "ESModule" as const, path: "index.mjs", contents: script }],
      bindings: { ...bindings, ...variables },
    },
  };
}
