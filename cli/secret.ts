import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FILE = "auth-secret";

/** The secret in the environment, else the one kept in a state folder; null if neither is there. */
export function findSecret(state: string): string | null {
  const fromEnvironment = process.env["AUTH_SECRET"];
  if (fromEnvironment !== undefined && fromEnvironment !== "") return fromEnvironment;
  try {
    return readFileSync(join(state, FILE), "utf8").trim();
  } catch {
    return null;
  }
}

/** As {@link findSecret}; makes a secret and keeps it, readable by its owner alone, if there is none. */
export function findOrMakeSecret(state: string): string {
  const found = findSecret(state);
  if (found !== null) return found;
  const secret = randomBytes(32).toString("base64url");
  mkdirSync(state, { recursive: true });
  writeFileSync(join(state, FILE), `${secret}\n`, { mode: 0o600 });
  return secret;
}
