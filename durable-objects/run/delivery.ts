import { RpcTarget } from "cloudflare:workers";

/** A request that waited may have lost its client meanwhile, and then nobody is there to take what it got. */
const CLAIM_WITHIN_MS = 5_000;

/**
 * The Run's hold on a batch that is on its way to a client. Whoever streams it claims it and keeps the stub; when nobody
 * claims it, or the stub goes without a report of success (the client left, the Worker died), the batch is free to be
 * served again at once.
 */
export class Delivery extends RpcTarget {
  readonly #end: () => void;
  readonly #unclaimed: ReturnType<typeof setTimeout>;
  #over = false;

  constructor(end: () => void) {
    super();
    this.#end = end;
    this.#unclaimed = setTimeout(() => this.#finish(), CLAIM_WITHIN_MS);
  }

  /** Says that somebody is there to stream the batch. Returns false if that comes too late: it may be with another now. */
  claim(): boolean {
    clearTimeout(this.#unclaimed);
    return !this.#over;
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#unclaimed);
    this.#finish();
  }

  #finish(): void {
    if (this.#over) return;
    this.#over = true;
    this.#end();
  }
}
