import { RpcTarget } from "cloudflare:workers";

/**
 * The Run's hold on a batch that is on its way to a client. Whoever streams it keeps the stub; when the stub goes without
 * a report of success (the client left, the Worker died) the batch is free to be served again at once.
 */
export class Delivery extends RpcTarget {
  readonly #end: () => void;

  constructor(end: () => void) {
    super();
    this.#end = end;
  }

  [Symbol.dispose](): void {
    this.#end();
  }
}
