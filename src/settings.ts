import { z } from "zod";
import { ApiError } from "./wire/api-error.ts";

const MIB = 1024 * 1024;

/** A secret shorter than the hash it keys would be the weakest part of every token (RFC 7518, 3.2). */
const secret = z.string().min(32, "must have at least 32 characters: `openssl rand -base64 32` makes one");

const schema = z.object({
  AUTH_SECRET: secret.optional(),
  AUTH_SECRET_PREVIOUS: secret.optional(),
  ALLOW_ANONYMOUS: z.stringbool().default(false),
  BODY_LIMIT_MIB: z.coerce.number().positive().max(1024).default(64),
  // Read by the objects too, which can't answer with what is wrong.
  DISK_LIMIT_MIB: z.coerce.number().positive().default(9_216),
  PAYLOAD_SHARDS: z.coerce.number().int().min(1).max(64).default(4),
});

export interface Settings {
  /** Secrets that tokens may be signed with; the first one signs. Empty when none is set. */
  readonly secrets: readonly string[];
  /** Whether requests without a token may do everything: local development alone, and never beside a secret. */
  readonly allowAnonymous: boolean;
  /** Largest decoded body, in bytes. */
  readonly bodyLimit: number;
  readonly payloadShards: number;
}

const parsed = new WeakMap<object, Settings>();

/**
 * The deployment's settings, from its variables and secrets.
 * @throws ApiError 503 that names a setting that is wrong. Nothing is served on a guess.
 */
export function settingsOf(env: object): Settings {
  const known = parsed.get(env);
  if (known !== undefined) return known;
  const result = schema.safeParse(env);
  if (!result.success) {
    const faults = result.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new ApiError(503, `this deployment's settings are wrong: ${faults.join("; ")}`);
  }
  const { AUTH_SECRET, AUTH_SECRET_PREVIOUS, ALLOW_ANONYMOUS, BODY_LIMIT_MIB, PAYLOAD_SHARDS } = result.data;
  const secrets = [AUTH_SECRET, AUTH_SECRET_PREVIOUS].filter((value) => value !== undefined);
  const settings = {
    secrets,
    allowAnonymous: ALLOW_ANONYMOUS && secrets.length === 0,
    bodyLimit: BODY_LIMIT_MIB * MIB,
    payloadShards: PAYLOAD_SHARDS,
  };
  parsed.set(env, settings);
  return settings;
}
