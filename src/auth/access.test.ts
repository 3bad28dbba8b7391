import { createExecutionContext, env } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { app } from "../app.ts";
import type { Role } from "./roles.ts";
import { signToken } from "./token.ts";

const SECRET = "the secret that these tests sign with";
const OTHER = "another secret, which was there before";
const IN_AN_HOUR = Math.floor(Date.now() / 1000) + 3_600;
const AN_HOUR_AGO = IN_AN_HOUR - 7_200;

const ROUTES: readonly (readonly [method: string, path: string, roles: readonly Role[]])[] = [
  ["GET", "/", ["environment", "trainer", "viewer", "admin"]],
  ["GET", "/status", ["environment", "trainer", "viewer", "admin"]],
  ["GET", "/info", ["environment", "trainer", "viewer", "admin"]],
  ["GET", "/wandb_info", ["environment", "trainer", "viewer", "admin"]],
  ["GET", "/latest_example", ["environment", "trainer", "viewer", "admin"]],
  ["POST", "/register", ["trainer", "admin"]],
  ["GET", "/batch", ["trainer", "admin"]],
  ["GET", "/reset_data", ["trainer", "admin"]],
  ["POST", "/register-env", ["environment", "admin"]],
  ["POST", "/disconnect-env", ["environment", "admin"]],
  ["GET", "/status-env", ["environment", "admin"]],
  ["POST", "/scored_data", ["environment", "admin"]],
  ["POST", "/scored_data_list", ["environment", "admin"]],
  ["POST", "/batches/:batch_id/ack", ["trainer", "admin"]],
  ["POST", "/batches/:batch_id/release", ["trainer", "admin"]],
  ["GET", "/batches/:batch_id", ["trainer", "admin"]],
  ["GET", "/metrics", ["environment", "trainer", "viewer", "admin"]],
  ["POST", "/fork", ["trainer", "admin"]],
  ["GET", "/dropped", ["environment", "trainer", "viewer", "admin"]],
  ["GET", "/dropped/:group", ["environment", "trainer", "viewer", "admin"]],
  ["POST", "/policy", ["trainer", "admin"]],
  ["GET", "/policy", ["environment", "trainer", "viewer", "admin"]],
  ["GET", "/leases", ["environment", "trainer", "viewer", "admin"]],
  ["POST", "/leases", ["environment", "admin"]],
  ["POST", "/leases/:lease_id/renew", ["environment", "admin"]],
  ["POST", "/leases/:lease_id/close", ["environment", "admin"]],
  ["POST", "/leases/:lease_id/backlog", ["environment", "admin"]],
  ["GET", "/environments", ["environment", "trainer", "viewer", "admin"]],
  ["GET", "/environments/:env_id/state", ["environment", "admin"]],
  ["PUT", "/environments/:env_id/state", ["environment", "admin"]],
  ["GET", "/evaluations", ["environment", "trainer", "viewer", "admin"]],
];
/** Where a run's routes stand, and which run that is. */
const PREFIXES = [
  ["/runs/math", "math"],
  ["/runs/math/as/first", "math"],
  ["", "default"],
] as const;
const OPEN = ["/health", "/openapi.json", "/docs"];
const ROLES: readonly Role[] = ["environment", "trainer", "viewer", "admin"];

async function status(
  method: string,
  path: string,
  authorization: string | null,
  settings: object = { AUTH_SECRET: SECRET },
) {
  const headers = authorization === null ? {} : { authorization };
  const request = new Request(`http://lachesis${path}`, { method, headers });
  return (await app.fetch(request, { ...env, ...settings }, createExecutionContext())).status;
}

async function bearer(role: Role, run: string, exp = IN_AN_HOUR, secret = SECRET): Promise<string> {
  return `Bearer ${await signToken({ run, role, exp }, secret)}`;
}

test("no route is without its rights, below any prefix", () => {
  const served = app.routes.flatMap(({ method, path }) => (method === "ALL" ? [] : [`${method} ${path}`]));
  const known = PREFIXES.flatMap(([prefix]) => {
    const below = prefix.replace("math", ":run").replace("first", ":label");
    return ROUTES.map(([method, path]) => `${method} ${path === "/" ? below || "/" : `${below}${path}`}`);
  });
  expect(new Set(served)).toEqual(new Set([...known, ...OPEN.map((path) => `GET ${path}`)]));
});

describe.each(PREFIXES)("below %j, in the run %s", (prefix, run) => {
  describe.each(ROUTES)("%s %s", (method, route, allowed) => {
    const path = `${prefix}${route.replaceAll(/:\w+/g, "1")}`;

    test.each(ROLES)("the role %s, in its run, in every run and in another", async (role) => {
      for (const good of [run, "*"]) {
        const answered = await status(method, path, await bearer(role, good));
        if (allowed.includes(role)) expect([401, 403]).not.toContain(answered);
        else expect(answered).toBe(403);
      }
      expect(await status(method, path, await bearer(role, "code"))).toBe(403);
    });

    test("nobody without a token that is valid now", async () => {
      const good = await bearer("admin", run);
      const refused: Record<string, string | null> = {
        none: null,
        expired: await bearer("admin", run, AN_HOUR_AGO),
        "signed with another secret": await bearer("admin", run, IN_AN_HOUR, OTHER),
        // Not in the last character: some of its bits are padding and count for nothing.
        tampered: `${good.slice(0, -9)}${good.at(-9) === "A" ? "B" : "A"}${good.slice(-8)}`,
        "not a token": "Bearer hello",
        "another scheme": good.replace("Bearer", "Token"),
        "Basic without a password": `Basic ${btoa("x:")}`,
        "Basic that is not base64": "Basic ***",
      };
      for (const [what, authorization] of Object.entries(refused)) {
        expect(await status(method, path, authorization), what).toBe(401);
      }
    });
  });
});

test("a token goes as the password of Basic too", async () => {
  const token = (await bearer("viewer", "math")).slice("Bearer ".length);
  expect(await status("GET", "/runs/math/status", `Basic ${btoa(`x:${token}`)}`)).toBe(200);
});

test.each(OPEN)("%s is open to everyone", async (path) => {
  expect(await status("GET", path, null)).toBe(200);
});

test("the previous secret still counts while it is set", async () => {
  const old = await bearer("viewer", "math", IN_AN_HOUR, OTHER);
  expect(await status("GET", "/runs/math/status", old, { AUTH_SECRET: SECRET, AUTH_SECRET_PREVIOUS: OTHER })).toBe(200);
  expect(await status("GET", "/runs/math/status", old, { AUTH_SECRET: SECRET })).toBe(401);
});

test.each([
  ["no secret", { AUTH_SECRET: undefined }, 503],
  ["a short secret", { AUTH_SECRET: "short" }, 503],
  ["a secret beside ALLOW_ANONYMOUS", { AUTH_SECRET: SECRET, ALLOW_ANONYMOUS: "true" }, 401],
  ["ALLOW_ANONYMOUS alone", { AUTH_SECRET: undefined, ALLOW_ANONYMOUS: "true" }, 200],
])("with %s a request without a token gets %j: %d", async (_what, settings, expected) => {
  expect(await status("GET", "/status", null, settings)).toBe(expected);
});

test("a fork needs a token that is good for both runs", async () => {
  const fork = async (run: string) => {
    const request = new Request("http://lachesis/runs/copy/fork", {
      method: "POST",
      body: JSON.stringify({ from: "original" }),
      headers: { authorization: await bearer("trainer", run) },
    });
    return (await app.fetch(request, { ...env, AUTH_SECRET: SECRET }, createExecutionContext())).status;
  };
  expect([await fork("copy"), await fork("original"), await fork("*")]).toEqual([403, 403, 404]);
});

test("a token that asks too often is told to wait, and others aren't", async () => {
  const [busy, other] = [await bearer("viewer", "math"), await bearer("viewer", "code")];
  const limit = async ({ key }: { key: string }) => ({ success: !busy.endsWith(key) });
  const settings = { AUTH_SECRET: SECRET, RATE_LIMIT: { limit } };
  expect(await status("GET", "/runs/math/status", busy, settings)).toBe(503);
  expect(await status("GET", "/runs/code/status", other, settings)).toBe(200);
});

test.each(OPEN.flatMap((path) => [path, `${path}/`]))("HEAD %s is answered", async (path) => {
  expect(await status("HEAD", path, null)).toBe(200);
});

test("HEAD never reaches a handler, which might hand out a batch", async () => {
  expect(await status("HEAD", "/runs/math/batch", await bearer("trainer", "math"))).toBe(405);
});
