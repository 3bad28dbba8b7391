/** An inference server. Field names are the wire's. */
export interface Endpoint {
  readonly id: number;
  readonly url: string;
  readonly model: string;
  readonly backend: "vllm" | "sglang" | "openai";
  /** The name of a secret of the environments' Workers. */
  readonly secret: string | null;
  readonly max_training_requests: number;
  readonly max_evaluation_requests: number;
}

export type NewEndpoint = Omit<Endpoint, "id">;

/** How an endpoint is doing. Field names are the wire's. */
export interface EndpointStatus extends Endpoint {
  readonly healthy: boolean;
  /** Completions that open leases stand for. */
  readonly in_flight: number;
  /** In a row. */
  readonly failures: number;
  readonly retry_in_seconds: number;
}

/** What an endpoint is used for. Each has a limit of its own, so that neither keeps the other waiting. */
export type Purpose = "train" | "evaluate";

type Load = Readonly<Record<Purpose, number>>;

const IDLE: Load = { train: 0, evaluate: 0 };

interface Health {
  failures: number;
  /** Unix milliseconds; no new lease names it before. */
  restUntil: number;
}

/** Failures in a row after which an endpoint rests. One may be chance. */
const FAILURES_TO_REST = 3;
const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 300_000;

const BACKENDS = { vllm: "vllm", sglang: "sglang", openai: "openai" } as const;

type EndpointRow = Omit<Endpoint, "backend"> & { backend: keyof typeof BACKENDS };

/**
 * The inference endpoints of a run. Which one a lease names is decided here for all environments together: the healthy one
 * with the least load for its limit. Health is in memory alone: after a restart all are tried anew.
 */
export class Endpoints {
  readonly #sql: SqlStorage;
  readonly #endpoints = new Map<number, Endpoint>();
  readonly #health = new Map<number, Health>();
  /** Completions open leases stand for, by endpoint. */
  readonly #load = new Map<number, Load>();
  #nextId = 1;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    type Row = EndpointRow & { current: number };
    for (const { current, ...row } of sql.exec<Row>("SELECT * FROM endpoint ORDER BY id")) {
      this.#nextId = row.id + 1;
      if (current === 1) this.#endpoints.set(row.id, { ...row, backend: BACKENDS[row.backend] });
    }
  }

  get count(): number {
    return this.#endpoints.size;
  }

  get(id: number): Endpoint | undefined {
    return this.#endpoints.get(id);
  }

  /** Replaces all endpoints. One that was there before keeps its id and health. */
  replace(endpoints: readonly NewEndpoint[]): void {
    const before = [...this.#endpoints.values()];
    // One row stays, so that ids go on where they were.
    this.#sql.exec("DELETE FROM endpoint WHERE id < (SELECT MAX(id) FROM endpoint)");
    this.#sql.exec("UPDATE endpoint SET current = 0");
    this.#endpoints.clear();
    for (const endpoint of endpoints) {
      const known = before.find(({ url, model }) => url === endpoint.url && model === endpoint.model);
      const id = known?.id ?? this.#nextId++;
      if (this.#endpoints.has(id)) continue;
      this.#endpoints.set(id, { id, ...endpoint });
      this.#sql.exec(
        `INSERT OR REPLACE INTO endpoint
         (id, url, model, backend, secret, max_training_requests, max_evaluation_requests, current) VALUES (?, ?, ?, ?, ?, ?, ?, 1)`,
        id,
        endpoint.url,
        endpoint.model,
        endpoint.backend,
        endpoint.secret,
        endpoint.max_training_requests,
        endpoint.max_evaluation_requests,
      );
    }
    for (const id of this.#health.keys()) if (!this.#endpoints.has(id)) this.#health.delete(id);
  }

  /**
   * The endpoint for a lease of that many completions, or null: the one with the least load of both purposes, among those
   * that have room for this one. `not` is one to avoid if there is another.
   */
  choose(completions: number, purpose: Purpose, now: number, not?: number): Endpoint | null {
    let best: Endpoint | null = null;
    let lowest = Number.POSITIVE_INFINITY;
    for (const endpoint of this.#endpoints.values()) {
      const own = this.#loadOf(endpoint.id)[purpose];
      const limit = purpose === "train" ? endpoint.max_training_requests : endpoint.max_evaluation_requests;
      if (!this.#isReady(endpoint.id, now)) continue;
      // One that has nothing to do takes a lease of any size: else a group larger than its limit would wait for ever.
      if (own > 0 && own + completions > limit) continue;
      const relative = (this.#inFlight(endpoint.id) + completions) / limit + (endpoint.id === not ? 1e6 : 0);
      if (relative < lowest) {
        lowest = relative;
        best = endpoint;
      }
    }
    return best;
  }

  /** A lease that names the endpoint was given out, or (a negative number) is over. */
  loaded(id: number, purpose: Purpose, completions: number): void {
    const load = this.#loadOf(id);
    const changed = { ...load, [purpose]: Math.max(0, load[purpose] + completions) };
    if (changed.train + changed.evaluate > 0) this.#load.set(id, changed);
    else this.#load.delete(id);
  }

  succeeded(id: number): void {
    this.#health.delete(id);
  }

  /** One that was replaced meanwhile has no health. */
  failed(id: number, now: number): void {
    if (!this.#endpoints.has(id)) return;
    const failures = (this.#health.get(id)?.failures ?? 0) + 1;
    const rests = failures - FAILURES_TO_REST;
    const rest = rests < 0 ? 0 : Math.min(LONGEST_REST_MS, FIRST_REST_MS * 2 ** rests);
    this.#health.set(id, { failures, restUntil: now + rest });
  }

  /** Why none can be chosen. */
  why(now: number): "no_endpoint" | "endpoints_unhealthy" | "endpoints_busy" {
    if (this.#endpoints.size === 0) return "no_endpoint";
    const ready = [...this.#endpoints.keys()].some((id) => this.#isReady(id, now));
    return ready ? "endpoints_busy" : "endpoints_unhealthy";
  }

  statuses(now: number): EndpointStatus[] {
    return [...this.#endpoints.values()].map((endpoint) => {
      const { failures, restUntil } = this.#health.get(endpoint.id) ?? { failures: 0, restUntil: 0 };
      return {
        ...endpoint,
        healthy: failures < FAILURES_TO_REST,
        in_flight: this.#inFlight(endpoint.id),
        failures,
        retry_in_seconds: Math.max(0, restUntil - now) / 1000,
      };
    });
  }

  /** After its rest an endpoint that failed gets one lease at a time until one succeeds. */
  #isReady(id: number, now: number): boolean {
    const health = this.#health.get(id);
    if (health === undefined || health.failures < FAILURES_TO_REST) return true;
    return now >= health.restUntil && this.#inFlight(id) === 0;
  }

  #loadOf(id: number): Load {
    return this.#load.get(id) ?? IDLE;
  }

  #inFlight(id: number): number {
    const { train, evaluate } = this.#loadOf(id);
    return train + evaluate;
  }
}
