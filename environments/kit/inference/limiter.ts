export type Purpose = "training" | "evaluation";

export interface RequestLimits {
  /** Training requests at once (the stock rule: 512). */
  readonly training?: number;
  /** Evaluation requests at once (the stock rule: 64). */
  readonly evaluation?: number;
  /** Requests at once that wait for their headers. A Worker invocation may have six; one is left for other calls. */
  readonly connections?: number;
}

/** Permission for one request. */
export interface Ticket {
  /** The answer's headers are there: the connection no longer counts. */
  headersArrived(): void;
  release(): void;
}

interface Waiter {
  readonly purpose: Purpose;
  readonly admit: () => void;
}

/**
 * How many requests are under way at once, first come, first served. Evaluation has a cap of its own and never takes the
 * last connection, so it can't keep training from its slots.
 */
export class RequestLimiter {
  readonly #limits: Readonly<Record<Purpose, number>>;
  readonly #connections: number;
  readonly #running: Record<Purpose, number> = { training: 0, evaluation: 0 };
  readonly #connecting: Record<Purpose, number> = { training: 0, evaluation: 0 };
  readonly #waiting: Waiter[] = [];

  constructor({ training = 512, evaluation = 64, connections = 5 }: RequestLimits = {}) {
    this.#limits = { training: atLeastOne(training), evaluation: atLeastOne(evaluation) };
    this.#connections = atLeastOne(connections);
  }

  /** Requests that wait for a ticket. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** @throws the signal's reason when it aborts first; then nothing is held. */
  acquire(purpose: Purpose, signal?: AbortSignal): Promise<Ticket> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        purpose,
        admit: () => {
          signal?.removeEventListener("abort", leave);
          resolve(this.#ticket(purpose));
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiter);
      this.#admitWaiting();
    });
  }

  #ticket(purpose: Purpose): Ticket {
    this.#running[purpose]++;
    this.#connecting[purpose]++;
    let connecting = true;
    let running = true;
    const headersArrived = () => {
      if (!connecting) return;
      connecting = false;
      this.#connecting[purpose]--;
      this.#admitWaiting();
    };
    const release = () => {
      if (!running) return;
      running = false;
      this.#running[purpose]--;
      headersArrived();
      this.#admitWaiting();
    };
    return { headersArrived, release };
  }

  #admitWaiting(): void {
    for (let index = 0; index < this.#waiting.length; ) {
      const waiter = this.#waiting[index];
      if (waiter !== undefined && this.#mayRun(waiter.purpose)) {
        this.#waiting.splice(index, 1);
        waiter.admit();
      } else if (this.#mayRun("training") || this.#mayRun("evaluation")) index++;
      else return;
    }
  }

  #mayRun(purpose: Purpose): boolean {
    const { training, evaluation } = this.#connecting;
    if (this.#running[purpose] >= this.#limits[purpose] || training + evaluation >= this.#connections) return false;
    return purpose === "training" || this.#connections === 1 || evaluation < this.#connections - 1;
  }
}

function atLeastOne(limit: number): number {
  if (!(limit >= 1)) throw new RangeError(`a limit of requests must be at least 1, not ${limit}`);
  return limit;
}
