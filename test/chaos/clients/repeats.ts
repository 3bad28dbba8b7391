import type { Question, Wire } from "./wire.ts";

/** Submissions of a client that it sends again at its end: long after they were answered, over restarts and evictions. */
const SENT_AGAIN = 8;

/** A client's submissions, so that it can send some of them again. */
export class Repeats {
  readonly #wire: Wire;
  readonly #sent: { readonly path: string; readonly question: Question }[] = [];

  constructor(wire: Wire) {
    this.#wire = wire;
  }

  /** Sends a submission until it is answered, and keeps it. */
  async submit(path: string, question: Question): Promise<void> {
    this.#sent.push({ path, question });
    await this.#wire.insist("POST", path, question);
  }

  /** Sends some of them again. The answers are for the checker to compare. */
  async again(): Promise<void> {
    for (let count = Math.min(SENT_AGAIN, this.#sent.length); count > 0; count--) {
      const chosen = this.#sent[this.#wire.random.integer(0, this.#sent.length - 1)];
      if (chosen !== undefined) await this.#wire.insist("POST", chosen.path, chosen.question);
    }
  }
}
