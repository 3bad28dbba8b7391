import type { Context } from "hono";
import { createMiddleware } from "hono/factory";
import type { AppEnv } from "../app-env.ts";
import { type Settings, settingsOf } from "../settings.ts";
import { ApiError } from "../wire/api-error.ts";
import { DEFAULT_RUN } from "../wire/names.ts";
import { refuseForeignPages } from "./foreign-page.ts";
import { type Action, mayDo } from "./roles.ts";
import { ANY_RUN, type Claims, verifyToken } from "./token.ts";

/** Tokens that verified, so that a client that sends one ten times a second costs one signature check. */
const verified = new WeakMap<Settings, Map<string, Claims>>();
const MAX_VERIFIED = 1_000;

const CHALLENGE = { "www-authenticate": 'Basic realm="lachesis", Bearer realm="lachesis"' };

/**
 * Lets a request through that may do `action` in the run its path names. Fails closed.
 * @throws ApiError 503 when no secret is set, 401 without a valid token, 403 with one for something else, or when a
 * browser sends what another origin's page asked for.
 */
export function access(action: Action) {
  return createMiddleware<AppEnv>(async (c, next) => {
    await authorizeFor(c, action, c.req.param("run") ?? DEFAULT_RUN);
    await next();
  });
}

/** As {@link access}, for a run that the request names elsewhere than in its path. */
export async function authorizeFor(c: Context<AppEnv>, action: Action, run: string): Promise<void> {
  const settings = settingsOf(c.env);
  if (settings.allowAnonymous) return refuseForeignPages(c.req.raw);
  if (settings.secrets.length === 0) {
    throw new ApiError(
      503,
      "no AUTH_SECRET is set, so nobody can be let in: `npx wrangler secret put AUTH_SECRET`, then mint tokens with `npx lachesis token`",
    );
  }
  const authorization = c.req.header("authorization");
  // A browser sends the password it was given once along with whatever any page asks for. Reading shows such a page nothing.
  if (action !== "read" && isBasic(authorization)) refuseForeignPages(c.req.raw);
  const { token, claims } = await authenticate(authorization, settings);
  authorize(claims, action, run);
  await limitRate(c.env.RATE_LIMIT, token);
}

/**
 * @throws ApiError 503 past the limit, not 429: stock environments send a group again after a 5xx and drop it after a 4xx.
 */
async function limitRate(limiter: RateLimit, token: string): Promise<void> {
  // The signature tells tokens apart, and says nothing of what it signs.
  const { success } = await limiter.limit({ key: token.slice(token.lastIndexOf(".") + 1) });
  if (success) return;
  throw new ApiError(503, "too many requests with this token in a minute: send fewer, or more groups a request", {
    "retry-after": "10",
  });
}

async function authenticate(
  authorization: string | undefined,
  settings: Settings,
): Promise<{ token: string; claims: Claims }> {
  if (authorization === undefined)
    throw new ApiError(401, "a token is needed: as Bearer, or as the password in the server's URL", CHALLENGE);
  const token = tokenOf(authorization);
  if (token === null)
    throw new ApiError(
      401,
      "the Authorization header is neither Bearer nor Basic with a token as its password",
      CHALLENGE,
    );
  const known = verified.get(settings)?.get(token);
  if (known !== undefined && known.exp > Date.now() / 1000) return { token, claims: known };
  const claims = await verifyToken(token, settings.secrets);
  if (claims === null)
    throw new ApiError(
      401,
      "the token is not valid here or has expired: mint one with `npx lachesis token`",
      CHALLENGE,
    );
  remember(settings, token, claims);
  return { token, claims };
}

function authorize(claims: Claims, action: Action, run: string): void {
  if (claims.run !== ANY_RUN && claims.run !== run) {
    throw new ApiError(403, `the token is for the run ${claims.run}, the request for ${run}`);
  }
  if (!mayDo(claims.role, action)) {
    throw new ApiError(403, `the role ${claims.role} may not ${action} here`);
  }
}

function isBasic(authorization: string | undefined): boolean {
  return authorization?.trim().toLowerCase().startsWith("basic ") ?? false;
}

/** The token of `Bearer TOKEN`, or the password of `Basic base64(user:TOKEN)`; the user is not looked at. */
function tokenOf(authorization: string): string | null {
  const [scheme = "", value = ""] = authorization.trim().split(/\s+/, 2);
  if (value === "") return null;
  if (scheme.toLowerCase() === "bearer") return value;
  if (scheme.toLowerCase() !== "basic") return null;
  try {
    const credentials = atob(value);
    const colon = credentials.indexOf(":");
    return colon === -1 || colon === credentials.length - 1 ? null : credentials.slice(colon + 1);
  } catch {
    return null;
  }
}

function remember(settings: Settings, token: string, claims: Claims): void {
  const tokens = verified.get(settings) ?? new Map<string, Claims>();
  verified.set(settings, tokens);
  if (tokens.size >= MAX_VERIFIED) {
    const oldest = tokens.keys().next();
    if (!oldest.done) tokens.delete(oldest.value);
  }
  tokens.set(token, claims);
}
