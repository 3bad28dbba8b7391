import { Failure } from "./failure.ts";

/** A time limit on work, with a signal that reaches whatever is still under way when the work is over, or the time is. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #over = new AbortController();
  readonly #timer: ReturnType<typeof setTimeout>;
  readonly #timeout: Promise<never>;
  #failure: Failure | null = null;

  /**
   * Begins to count.
   * @param waitsForEndpoint whether the endpoint holds a request up: then it is to blame. Asked when the time is over, before
   * the signal ends what is under way.
   */
  constructor(seconds: number, waitsForEndpoint: () => boolean) {
    this.signal = this.#over.signal;
    const { promise, reject } = Promise.withResolvers<never>();
    this.#timeout = promise;
    // Nobody may be listening yet.
    promise.catch(() => {});
    this.#timer = setTimeout(
      () => {
        const endpointFault = waitsForEndpoint();
        const waiting = endpointFault ? "; it was waiting for the inference endpoint" : "";
        this.#failure = new Failure("timeout", `not done after ${Math.round(seconds)} s${waiting}`, { endpointFault });
        reject(this.#failure);
        this.#over.abort(this.#failure);
      },
      Math.max(0, seconds * 1000),
    );
  }

  /**
   * Does the work, which may ignore the signal.
   * @throws Failure `timeout`
   */
  async limit<T>(work: Promise<T>): Promise<T> {
    try {
      return await Promise.race([work, this.#timeout]);
    } catch (error) {
      throw this.#failure ?? error;
    } finally {
      clearTimeout(this.#timer);
      this.#over.abort();
    }
  }
}
