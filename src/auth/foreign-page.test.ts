import { createExecutionContext, env } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { app } from "../app.ts";
import { signToken } from "./token.ts";

const SECRET = "the secret that these tests sign with";
const AT = "http://127.0.0.1:8000";
type Headers = Readonly<Record<string, string>>;

async function answer(method: string, path: string, headers: Headers, settings: object) {
  const response = await app.fetch(
    new Request(`${AT}${path}`, { method, headers }),
    { ...env, ...settings },
    createExecutionContext(),
  );
  return { status: response.status, text: await response.text() };
}

const FOREIGN: readonly (readonly [what: string, headers: Headers])[] = [
  ["an image of another site", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors" }],
  ["a link on another site", { "sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate" }],
  ["a page on another port", { "sec-fetch-site": "same-site", origin: "http://127.0.0.1:3000" }],
  ["a form of a browser without Fetch Metadata", { origin: "https://evil.example", "content-type": "text/plain" }],
  ["a sandboxed frame", { origin: "null" }],
  ["a page that names the host alone", { origin: "http://127.0.0.1" }],
  ["the same host with TLS", { origin: "https://127.0.0.1:8000" }],
];
const OWN: readonly (readonly [what: string, headers: Headers])[] = [
  ["no browser", {}],
  ["the address bar", { "sec-fetch-site": "none", "sec-fetch-mode": "navigate" }],
  ["the server's own page", { "sec-fetch-site": "same-origin", origin: AT }],
  ["the same without Fetch Metadata", { origin: AT }],
];
const ROUTES = [
  ["GET", "/reset_data"],
  ["GET", "/batch"],
  ["GET", "/status"],
  ["POST", "/register"],
  ["POST", "/scored_data"],
  ["PUT", "/environments/0/state"],
  ["GET", "/runs/math/as/a/status-env"],
] as const;

describe.each(ROUTES)("a server that lets everyone in: %s %s", (method, path) => {
  const open = { AUTH_SECRET: undefined, ALLOW_ANONYMOUS: "true" };

  test.each(FOREIGN)("is closed to %s", async (_what, headers) => {
    const { status, text } = await answer(method, path, headers, open);
    expect([status, JSON.parse(text)]).toEqual([403, { detail: expect.stringContaining("another origin") }]);
  });

  test.each(OWN)("is open to %s", async (_what, headers) => {
    expect((await answer(method, path, headers, open)).status).not.toBe(403);
  });
});

test.each(["/health", "/docs", "/openapi.json"])(
  "%s tells nothing of a run, so that a link leads there",
  async (path) => {
    const headers = { "sec-fetch-site": "cross-site" };
    expect((await answer("GET", path, headers, { ALLOW_ANONYMOUS: "true", AUTH_SECRET: undefined })).status).toBe(200);
  },
);

describe("a server with tokens", async () => {
  const token = await signToken({ run: "*", role: "admin", exp: Math.floor(Date.now() / 1000) + 3_600 }, SECRET);
  const status = async (path: string, authorization: string, headers: Headers) =>
    (await answer("GET", path, { ...headers, authorization }, { AUTH_SECRET: SECRET })).status;

  test.each(FOREIGN)("changes nothing for %s that sends a password the browser knows", async (_what, headers) => {
    for (const basic of [`Basic ${btoa(`x:${token}`)}`, `basic  ${btoa(`x:${token}`)}`]) {
      expect(await status("/reset_data", basic, headers)).toBe(403);
      expect(await status("/status", basic, headers)).toBe(200);
    }
  });

  test.each(FOREIGN)("lets in %s that has a token of its own", async (_what, headers) => {
    expect(await status("/reset_data", `Bearer ${token}`, headers)).toBe(200);
  });

  test.each(OWN)("lets in %s with a password", async (_what, headers) => {
    expect(await status("/reset_data", `Basic ${btoa(`x:${token}`)}`, headers)).toBe(200);
  });
});
