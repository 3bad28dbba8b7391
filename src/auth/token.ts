import { sign, verify } from "hono/jwt";
import { z } from "zod";
import { runName } from "../wire/names.ts";
import { role } from "./roles.ts";

/** Stands for every run in a token. */
export const ANY_RUN = "*";

const claims = z.object({
  run: z.union([z.literal(ANY_RUN), runName]),
  role,
  /** Unix seconds, as in RFC 7519. */
  exp: z.number(),
});

/** What a token says: who may do what, in which run, until when. */
export type Claims = z.infer<typeof claims>;

/**
 * Signs a token (JWT, HS256).
 * @throws ZodError when the run's name is not one.
 */
export function signToken(token: Claims, secret: string): Promise<string> {
  return sign({ ...claims.parse(token), iat: Math.floor(Date.now() / 1000) }, secret, "HS256");
}

/**
 * The claims of a token, or null when it is not one of ours: malformed, signed with another secret, expired, or without
 * an expiry. The comparison is WebCrypto's, in constant time.
 */
export async function verifyToken(token: string, secrets: readonly string[]): Promise<Claims | null> {
  for (const secret of secrets) {
    try {
      return claims.parse(await verify(token, secret, "HS256"));
    } catch {
      // Not signed with this one.
    }
  }
  return null;
}
