/** One alarm for several purposes: it goes off at the earliest time anyone asked for. */
export class Alarm {
  readonly #storage: DurableObjectStorage;
  #at: number | null = null;

  constructor(storage: DurableObjectStorage) {
    this.#storage = storage;
  }

  /**
   * Asks for the alarm at this time (Unix milliseconds) or earlier. After a restart the first call may put off an alarm that
   * was set before: who asks first then has to ask for everything that is due.
   */
  at(time: number): void {
    if (this.#at !== null && this.#at <= time) return;
    this.#at = time;
    void this.#storage.setAlarm(time);
  }

  /** It went off: whoever still needs it asks again. */
  wentOff(): void {
    this.#at = null;
  }
}
