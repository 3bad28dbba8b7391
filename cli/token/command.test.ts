import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { verifyToken } from "../../src/auth/token.ts";
import { findOrMakeSecret } from "../secret.ts";
import { token } from "./command.ts";

const state = mkdtempSync(join(tmpdir(), "lachesis-token-"));
let printed: string[] = [];

beforeEach(() => {
  printed = [];
  vi.stubEnv("AUTH_SECRET", undefined);
  vi.spyOn(console, "log").mockImplementation((line: string) => void printed.push(line));
});
afterEach(() => vi.restoreAllMocks());

test("without a secret it says where one is looked for", async () => {
  await expect(token(["--role", "trainer", "--state", state])).rejects.toThrow(`looked in ${state}`);
});

test("a token holds run, role and expiry, and is signed with the state's secret", async () => {
  const secret = findOrMakeSecret(state);
  await token(["--run", "math", "--role", "trainer", "--days", "30", "--state", state]);
  const claims = await verifyToken(printed.join(""), [secret]);
  expect(claims).toMatchObject({ run: "math", role: "trainer" });
  expect(claims?.exp).toBeCloseTo(Date.now() / 1000 + 30 * 86_400, -2);
});

test.each([
  [["--role", "root"], "--role"],
  [[], "--role"],
  [["--role", "admin", "--run", "a/b"], "--run"],
  [["--role", "admin", "--days", "0"], "--days"],
])("%j is refused, naming %s", async (args, option) => {
  await expect(token([...args, "--state", state])).rejects.toThrow(option);
});
