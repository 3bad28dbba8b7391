/**
 * Counts requests that an inference server holds up: from when one is sent to the last byte of its answer, and the waits for
 * another try that the server brought about. What waits for a slot is not among them: that is no fault of the server.
 */
export class UnderWay {
  #count = 0;

  get count(): number {
    return this.#count;
  }

  async during<T>(work: () => Promise<T>): Promise<T> {
    this.#count++;
    try {
      return await work();
    } finally {
      this.#count--;
    }
  }
}
