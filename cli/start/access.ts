import type { Role } from "../../src/auth/roles.ts";
import { signToken } from "../../src/auth/token.ts";
import { findOrMakeSecret } from "../secret.ts";

/** Longer than the process lives. */
const VALID_SECONDS = 10 * 365 * 86_400;

/** Who is let in, and the tokens of those that belong to this command. */
export class Access {
  readonly #run: string;
  readonly #secret: string | null;

  constructor({ auth, run }: { readonly auth: boolean; readonly run: string }, state: string) {
    this.#run = run;
    this.#secret = auth ? findOrMakeSecret(state) : null;
  }

  /** The API Worker's. */
  get variables(): Record<string, string> {
    return this.#secret === null ? { ALLOW_ANONYMOUS: "true" } : { AUTH_SECRET: this.#secret };
  }

  /** Undefined where none is needed. */
  async token(role: Role): Promise<string | undefined> {
    if (this.#secret === null) return undefined;
    return signToken({ run: this.#run, role, exp: Math.floor(Date.now() / 1000) + VALID_SECONDS }, this.#secret);
  }
}
