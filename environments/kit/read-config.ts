import { z } from "zod";
import { type BaseConfig, baseConfig } from "./base-config.ts";

/** An environment's schema: the base's fields, with its own added or in place of the base's. */
function schemaOf<Own extends z.ZodRawShape>(own: z.ZodObject<Own>) {
  return baseConfig.extend(own.shape);
}

/** An environment's config: every setting has a value. `Own` is the shape of its own settings. */
export type ConfigOf<Own extends z.ZodRawShape> = z.output<ReturnType<typeof schemaOf<Own>>>;

/** Settings as a preset gives them: some of them. */
export type SettingsOf<Own extends z.ZodRawShape> = Partial<z.input<ReturnType<typeof schemaOf<Own>>>>;

/** A setting that can't be. The message names where it was made, the setting, its value and what to do. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
}

/** Where settings come from, as a Worker's variables give them. */
export interface ConfigSources {
  /** The name of a preset. */
  readonly preset?: string | undefined;
  /** JSON text that is merged on top of it. */
  readonly config?: string | undefined;
}

/** What an environment knows of its settings. */
export interface Settings<Own extends z.ZodRawShape> {
  readonly environment: string;
  readonly own: z.ZodObject<Own>;
  readonly presets: Readonly<Record<string, SettingsOf<Own>>>;
}

export interface ReadConfig<Config> {
  readonly config: Config;
  /** The base's part of it. */
  readonly base: BaseConfig;
}

type Plain = Readonly<Record<string, unknown>>;

const wholeBase = z.object(baseConfig.shape);

/**
 * Defaults, then the preset, then CONFIG.
 * @throws ConfigError
 */
export function readConfig<Own extends z.ZodRawShape>(
  { environment, own, presets }: Settings<Own>,
  { preset, config }: ConfigSources,
): ReadConfig<ConfigOf<Own>> {
  const names = Object.keys(presets);
  if (preset !== undefined && !names.includes(preset)) {
    const has = names.length === 0 ? "has no presets; leave it empty" : `has these presets: ${names.join(", ")}`;
    throw new ConfigError(`PRESET is ${JSON.stringify(preset)}, but ${environment} ${has}`);
  }
  const given = readJson(config);
  const schema = schemaOf(own);
  const settings = merge({ ...(preset === undefined ? {} : presets[preset]) }, given);
  const read = schema.safeParse(settings);
  if (!read.success) {
    const known = Object.keys(schema.shape);
    const where = (key: string) => (key in given || preset === undefined ? "CONFIG" : `preset ${preset}`);
    throw new ConfigError(read.error.issues.map((issue) => explain(issue, settings, where, known)).join("; "));
  }
  const base = wholeBase.parse(read.data);
  checkTogether(base);
  return { config: read.data, base };
}

function readJson(text: string | undefined): Plain {
  if (text === undefined) return {};
  const example = 'for instance {"group_size": 4}';
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new ConfigError(`CONFIG is no JSON (${why}); give an object, ${example}`);
  }
  if (isPlain(value)) return value;
  throw new ConfigError(`CONFIG is ${excerpt(value)}; give an object of settings, ${example}`);
}

function merge(below: Plain, above: Plain): Plain {
  const merged: Record<string, unknown> = { ...below };
  for (const [key, value] of Object.entries(above)) {
    const under = merged[key];
    merged[key] = isPlain(under) && isPlain(value) ? merge(under, value) : value;
  }
  return merged;
}

function isPlain(value: unknown): value is Plain {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function explain(issue: z.core.$ZodIssue, settings: Plain, where: (key: string) => string, known: string[]): string {
  if (issue.code === "unrecognized_keys") {
    const path = issue.path.map((key) => `${String(key)}.`).join("");
    const keys = issue.keys.map((key) => JSON.stringify(`${path}${key}`)).join(", ");
    const there = path === "" ? `; there are: ${known.toSorted().join(", ")}` : "";
    return `${where(String(issue.path[0] ?? issue.keys[0]))} has the unknown setting ${keys}${there}`;
  }
  const value = issue.path.reduce<unknown>((at, key) => (isPlain(at) ? at[String(key)] : undefined), settings);
  const name = issue.path.map(String).join(".");
  return `${where(String(issue.path[0]))}: ${name} is ${excerpt(value)}: ${issue.message}`;
}

function excerpt(value: unknown): string {
  const text = value === undefined ? "missing" : JSON.stringify(value);
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** A lease has to outlast the work under it, with what it takes to hand the group in. */
const LEASE_MARGIN_SECONDS = 15;

function checkTogether({ lease_seconds, rollout_timeout_seconds, lease_sequences, group_size }: BaseConfig): void {
  if (lease_seconds < rollout_timeout_seconds + LEASE_MARGIN_SECONDS) {
    throw new ConfigError(
      `lease_seconds is ${lease_seconds} and rollout_timeout_seconds ${rollout_timeout_seconds}: ` +
        `a lease must last at least ${LEASE_MARGIN_SECONDS} s longer than a rollout may take; raise one or lower the other`,
    );
  }
  if (lease_sequences !== null && lease_sequences < group_size) {
    throw new ConfigError(
      `lease_sequences is ${lease_sequences} and group_size ${group_size}: a lease must have room for a group; raise one or lower the other`,
    );
  }
}
