import { Failure } from "./failure.ts";

/** A time limit on work, with a signal that reaches whatever is still under way when the work is over, or the time is. */
export class Deadline {
  readonly signal: AbortSignal;
  readonly #seconds: number;
  readonly #timeout: AbortSignal;
  readonly #over = new AbortController();

  constructor(seconds: number) {
    this.#seconds = seconds;
    this.#timeout = AbortSignal.timeout(Math.max(0, seconds * 1000));
    this.signal = AbortSignal.any([this.#timeout, this.#over.signal]);
  }

  /**
   * Does the work, which may ignore the signal.
   * @param waitsForEndpoint whether an inference request is under way: then the endpoint is to blame
   * @throws Failure `timeout`
   */
  async limit<T>(work: Promise<T>, waitsForEndpoint: () => boolean): Promise<T> {
    let blame = false;
    const timeout = new Promise<never>((_, reject) => {
      this.#timeout.addEventListener("abort", () => {
        blame = waitsForEndpoint();
        reject(this.#timeout.reason);
      });
    });
    try {
      return await Promise.race([work, timeout]);
    } catch (error) {
      if (!this.#timeout.aborted) throw error;
      const waiting = blame ? "; it was waiting for the inference endpoint" : "";
      throw new Failure("timeout", `not done after ${Math.round(this.#seconds)} s${waiting}`, { endpointFault: blame });
    } finally {
      this.#over.abort();
    }
  }
}
