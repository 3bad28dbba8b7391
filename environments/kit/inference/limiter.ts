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

/** Where a request gets its permission from. */
export interface Slots {
  /** @throws the signal's reason when it aborts first; then nothing is held. */
  acquire(purpose: Purpose, signal?: AbortSignal): Promise<Ticket>;
}

/** What an endpoint says of itself. */
export interface EndpointLimits {
  readonly id: number;
  readonly max_training_requests: number;
  readonly max_evaluation_requests: number;
}

/** Requests at once, and those that are under way. */
class Cap {
  limits: Readonly<Record<Purpose, number>>;
  readonly running: Record<Purpose, number> = { training: 0, evaluation: 0 };

  constructor(training: number, evaluation: number) {
    this.limits = { training: atLeastOne(training), evaluation: atLeastOne(evaluation) };
  }

  hasRoom(purpose: Purpose): boolean {
    return this.running[purpose] < this.limits[purpose];
  }
}

interface Waiter {
  readonly purpose: Purpose;
  /** All that have to have room: the limiter's own, and the endpoint's. */
  readonly caps: readonly Cap[];
  readonly admit: () => void;
}

/**
 * How many requests are under way at once, first come, first served. Evaluation has a cap of its own and never takes the
 * last connection, so it can't keep training from its slots. Endpoints have their own caps on top, and share the rest.
 */
export class RequestLimiter implements Slots {
  readonly #all: Cap;
  readonly #endpoints = new Map<number, Cap>();
  readonly #connections: number;
  readonly #connecting: Record<Purpose, number> = { training: 0, evaluation: 0 };
  readonly #waiting: Waiter[] = [];

  constructor({ training = 512, evaluation = 64, connections = 5 }: RequestLimits = {}) {
    this.#all = new Cap(training, evaluation);
    this.#connections = atLeastOne(connections);
  }

  /** Requests that wait for a ticket. */
  get waiting(): number {
    return this.#waiting.length;
  }

  acquire(purpose: Purpose, signal?: AbortSignal): Promise<Ticket> {
    return this.#acquire(purpose, [this.#all], signal);
  }

  /** Slots for the requests to one endpoint: no more at once than it takes, whoever asks. What it said last counts. */
  of({ id, max_training_requests, max_evaluation_requests }: EndpointLimits): Slots {
    const said = new Cap(max_training_requests, max_evaluation_requests);
    const cap = this.#endpoints.get(id) ?? said;
    cap.limits = said.limits;
    this.#endpoints.set(id, cap);
    return { acquire: (purpose, signal) => this.#acquire(purpose, [this.#all, cap], signal) };
  }

  #acquire(purpose: Purpose, caps: readonly Cap[], signal: AbortSignal | undefined): Promise<Ticket> {
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const leave = () => {
        this.#waiting.splice(this.#waiting.indexOf(waiter), 1);
        reject(signal?.reason);
      };
      const waiter: Waiter = {
        purpose,
        caps,
        admit: () => {
          signal?.removeEventListener("abort", leave);
          resolve(this.#ticket(purpose, caps));
        },
      };
      signal?.addEventListener("abort", leave, { once: true });
      this.#waiting.push(waiter);
      this.#admitWaiting();
    });
  }

  #ticket(purpose: Purpose, caps: readonly Cap[]): Ticket {
    for (const { running } of caps) running[purpose]++;
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
      for (const { running } of caps) running[purpose]--;
      headersArrived();
      this.#admitWaiting();
    };
    return { headersArrived, release };
  }

  #admitWaiting(): void {
    for (let index = 0; index < this.#waiting.length; ) {
      const waiter = this.#waiting[index];
      if (waiter !== undefined && this.#mayRun(waiter.purpose, waiter.caps)) {
        this.#waiting.splice(index, 1);
        waiter.admit();
      } else if (this.#mayRun("training", [this.#all]) || this.#mayRun("evaluation", [this.#all])) index++;
      else return;
    }
  }

  #mayRun(purpose: Purpose, caps: readonly Cap[]): boolean {
    const { training, evaluation } = this.#connecting;
    if (training + evaluation >= this.#connections || !caps.every((cap) => cap.hasRoom(purpose))) return false;
    return purpose === "training" || this.#connections === 1 || evaluation < this.#connections - 1;
  }
}

function atLeastOne(limit: number): number {
  if (!(limit >= 1)) throw new RangeError(`a limit of requests must be at least 1, not ${limit}`);
  return limit;
}
