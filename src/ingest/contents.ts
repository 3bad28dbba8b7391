import { createHash, type Hash } from "node:crypto";

/**
 * What the contents of a request are called: "c:" and their SHA-256. Hashing costs a tenth of taking a request in, so it is
 * left out as long as the run isn't known to need it, and what has come is kept meanwhile.
 */
export class Contents {
  #kept: Uint8Array[] | null = [];
  #keptBytes = 0;
  #hash: Hash | null = null;

  /** `isNeeded`: whether the run is known to tell requests by their contents. */
  constructor(isNeeded: boolean) {
    if (isNeeded) this.demand();
  }

  /** The name, once all has come; null where nobody needs it. */
  get key(): string | null {
    return this.#hash === null ? null : `c:${this.#hash.copy().digest("hex")}`;
  }

  push(chunk: Uint8Array): void {
    this.#hash?.update(chunk);
    // The chunk isn't valid any more when the next one comes.
    if (this.#hash !== null || this.#kept === null) return;
    this.#kept.push(chunk.slice());
    this.#keptBytes += chunk.length;
  }

  /** The name is needed. Has no effect after {@link settle} said that it isn't. */
  demand(): void {
    if (this.#hash !== null || this.#kept === null) return;
    this.#hash = createHash("sha256");
    for (const chunk of this.#kept) this.#hash.update(chunk);
    this.drop();
  }

  /** Text that is kept, in bytes. */
  get bytes(): number {
    return this.#keptBytes;
  }

  /** Nobody will ask: the request is refused. */
  drop(): void {
    this.#kept = null;
    this.#keptBytes = 0;
  }

  /** More is coming than can be kept, so this is the time to ask whether the name is needed. Asks once. */
  async settle(isNeeded: () => Promise<boolean>): Promise<void> {
    if (this.#kept === null) return;
    if (await isNeeded()) this.demand();
    this.drop();
  }
}
