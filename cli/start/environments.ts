import { z } from "zod";
import { wholeNumber } from "../options.ts";
import { quote } from "../quote.ts";
import { UsageError } from "../usage-error.ts";
import type { Generation } from "./generation.ts";
import type { GivenOptions } from "./options.ts";

export const DEFAULT_ENVIRONMENT = "gsm8k";

/** The preset whose items the tiny policy can learn. */
const TINY_PRESET = "tiny";

/** An environment to run. */
export interface EnvironmentOptions {
  readonly name: string;
  /** Its wrangler.toml. */
  readonly config: string;
  /** Variables and secrets on top of that: PRESET, CONFIG, the inference server's API key. */
  readonly variables: Readonly<Record<string, string>>;
}

const settings = z.record(z.string(), z.unknown());

/**
 * @param configOf finds an environment's wrangler.toml, or throws.
 * @throws UsageError
 */
export function readEnvironments(
  options: Pick<GivenOptions, "environment" | "config" | "preset" | "group-size" | "seed">,
  generation: Exclude<Generation, { kind: "none" }>,
  configOf: (name: string) => string,
): EnvironmentOptions[] {
  const names = [...new Set(options.environment ?? [DEFAULT_ENVIRONMENT])];
  const configs = readConfigs(options.config ?? [], names);
  const isTiny = generation.kind !== "endpoint";
  const groupSize = options["group-size"];
  const common = {
    ...(options.seed === undefined ? {} : { seed: wholeNumber("--seed", options.seed, 0, 2 ** 31 - 1) }),
    ...(groupSize === undefined ? {} : { group_size: wholeNumber("--group-size", groupSize, 1, 65_536) }),
  };
  return names.map((name) => {
    const config = { ...common, ...configs.get(name) };
    return {
      name,
      config: configOf(name),
      variables: {
        PRESET: options.preset ?? (isTiny ? TINY_PRESET : ""),
        ...(Object.keys(config).length === 0 ? {} : { CONFIG: JSON.stringify(config) }),
        ...(generation.kind === "endpoint" && generation.secret !== null
          ? { [generation.secret.name]: generation.secret.value }
          : {}),
      },
    };
  });
}

function readConfigs(given: readonly string[], names: readonly string[]): Map<string, z.infer<typeof settings>> {
  return new Map(
    given.map((text) => {
      const [, name = "", json = ""] = /^([^={]+)=([\s\S]*)$/.exec(text) ?? [];
      if (!names.includes(name)) {
        const what = name === "" ? "names no environment" : `names ${quote(name)}`;
        throw new UsageError(`--config ${what}; give NAME=JSON with a NAME that runs: ${names.join(", ")}`);
      }
      const read = settings.safeParse(parseJson(json));
      if (!read.success || Array.isArray(read.data)) {
        throw new UsageError(`--config ${name} is ${json}; give a JSON object, for instance ${name}={"group_size": 4}`);
      }
      return [name, read.data];
    }),
  );
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
