import type { z } from "zod";
import { validate } from "../wire/json-body.ts";
import { IDEMPOTENCY_HEADER, idempotencyHeader, LEASE_HEADER, leaseHeader } from "../wire/rollouts.ts";

/** What a submission says of itself in its headers. */
export interface RequestOrigin {
  /** The rollout lease its groups were generated under, or null. */
  readonly lease: number | null;
  /** Tells it if it comes again, or null. */
  readonly key: string | null;
}

/** @throws ApiError 422 for a header that can't be read. */
export function requestOrigin(headers: Headers): RequestOrigin {
  return {
    lease: read(headers, LEASE_HEADER, leaseHeader, (lease) => lease),
    // Apart from what contents are called, see contentKey.
    key: idempotencyKey(headers, "k"),
  };
}

/**
 * The client's key, or null. Requests of different kinds have different prefixes.
 * @throws ApiError 422 for one that can't be read.
 */
export function idempotencyKey(headers: Headers, prefix: "k" | "r"): string | null {
  return read(headers, IDEMPOTENCY_HEADER, idempotencyHeader, (key) => `${prefix}:${key}`);
}

function read<T, R>(
  headers: Headers,
  name: string,
  schema: z.ZodType<Record<string, T>>,
  use: (value: T) => R,
): R | null {
  const given = headers.get(name);
  if (given === null) return null;
  const value = validate({ [name]: given }, schema, "header")[name];
  return value === undefined ? null : use(value);
}
