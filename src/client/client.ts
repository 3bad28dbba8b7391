import { z } from "zod";
import { type ackBody, type BatchChange, batchChange, type releaseBody } from "../wire/batches.ts";
import { answers } from "../wire/messages.ts";
import {
  backlogAnswer,
  type CloseAnswer,
  closeAnswer,
  type closeBody,
  type EnvironmentState,
  type EnvironmentsAnswer,
  environmentsAnswer,
  evaluationsAnswer,
  IDEMPOTENCY_HEADER,
  type LeaseList,
  type LeasesAnswer,
  leaseList,
  leasesAnswer,
  policyAnswer,
  type policyBody,
  type RenewAnswer,
  renewAnswer,
  type renewBody,
  stateAnswer,
} from "../wire/rollouts.ts";
import { ClientError, type RequestOptions, readAnswer, Transport, type TransportOptions } from "./transport.ts";

export { ClientError, type TransportOptions as ClientOptions } from "./transport.ts";

const overview = z.looseObject({
  current_step: z.int(),
  queue_size: z.int(),
  explain: z.looseObject({ reason: z.string(), message: z.string(), queued_sequences: z.int() }),
  received_groups: z.int(),
  environments: z.looseObject({ connected: z.int(), alive: z.int() }),
  admission: z.looseObject({
    limit_sequences: z.int().nullable(),
    held_sequences: z.int(),
    leased_sequences: z.int(),
    open_leases: z.int(),
  }),
  trainer: z
    .looseObject({ step: z.int().nullable(), metrics: z.record(z.string(), z.number()) })
    .nullish()
    .transform((value) => value ?? null),
});

/** What a run says of itself when asked to explain. */
export type Overview = z.infer<typeof overview>;

/** A trainer's settings: the stock fields and those of this server. */
export interface TrainerSettings {
  readonly wandb_group?: string | null;
  readonly wandb_project?: string | null;
  /** Sequences of a batch. */
  readonly batch_size: number;
  readonly max_token_len: number;
  readonly checkpoint_dir?: string;
  readonly save_checkpoint_interval?: number;
  readonly starting_step?: number;
  readonly num_steps: number;
  readonly mixing?: "fifo" | "weighted";
  readonly payload_shards?: number;
  readonly max_batches_offpolicy?: number;
  readonly max_staleness?: number | null;
  readonly keep_steps?: number;
  readonly keep_bytes?: number;
  readonly max_queue_sequences?: number;
  readonly max_queue_bytes?: number;
  /** Whether a request without a key is told by its contents when it comes again. */
  readonly deduplicate?: boolean;
  readonly filters?: FilterSettings;
  /** The step of the checkpoint that the trainer goes on from. */
  readonly resume_from_step?: number | null;
}

/** Which groups a run keeps from its trainers. */
export interface FilterSettings {
  readonly equal_scores?: boolean;
  readonly min_mean_score?: number | null;
  readonly max_mean_score?: number | null;
  readonly max_sequence_length?: number | null;
}

/** An environment's settings. */
export interface EnvironmentSettings {
  readonly desired_name: string;
  readonly max_token_length: number;
  readonly group_size: number;
  readonly weight?: number;
  readonly min_batch_allocation?: number | null;
  readonly key?: string;
  readonly lease_sequences?: number;
  readonly lease_seconds?: number;
  readonly steps_per_eval?: number;
  readonly evaluation_handling?: "stop" | "limit" | "none";
  readonly evaluation_limit?: number;
}

export type Registered = z.infer<typeof answers.registerEnvironment>;
export type RenewRequest = z.input<typeof renewBody>;
export type CloseRequest = z.input<typeof closeBody>;
export type PolicyChange = z.input<typeof policyBody>;
export type Policy = z.infer<typeof policyAnswer>;

export interface BatchRequest {
  /** Seconds the batch is held before it is acknowledged. */
  readonly lease: number;
  /** Seconds to wait for one. */
  readonly wait: number;
  /** As the trainer calls itself, where there are several. */
  readonly trainer?: string;
  readonly slice?: { readonly rank: number; readonly worldSize: number };
  readonly signal?: AbortSignal;
}

/** A batch as a trainer gets it. Its groups are not looked into here: they may be large, and the trainer knows their shape. */
export interface LeasedBatch {
  readonly id: number;
  readonly step: number;
  /** Stands for this turn with the batch: an ack that says it can't end somebody else's. */
  readonly hold: number;
  readonly groups: readonly unknown[];
}

const batchBody = z.looseObject({
  status: z.string().optional(),
  message: z.string().optional(),
  batch: z.array(z.unknown()).nullable(),
});

/** Seconds a request is given beyond what it may wait at the server. */
const GRACE_SECONDS = 30;

/**
 * The public API, typed. Requests that may be repeated without harm are, a few times and with growing waits, when the
 * server isn't reachable or answers 429 or 5xx. A Retry-After is waited for in full; one of more than a minute is given up.
 * @throws ClientError for every answer that is no success, or no answer of this server; its `status` is 0 when there was none
 * at all, or none to its end.
 */
export class Client {
  readonly #transport: Transport;

  constructor(options: TransportOptions) {
    this.#transport = new Transport(options);
  }

  /** Step, queue, environments, and why no batch is ready. */
  async overview(): Promise<Overview> {
    return this.#get("/status?explain", overview);
  }

  /** The trainer's batch size and longest sequence; -1 before one has registered. */
  info(): Promise<z.infer<typeof answers.info>> {
    return this.#get("/info", answers.info);
  }

  /** Registers a trainer. Returns what of its settings the run ignores, in words, or null. */
  async registerTrainer(settings: TrainerSettings): Promise<string | null> {
    const body = {
      wandb_group: null,
      wandb_project: null,
      checkpoint_dir: "",
      save_checkpoint_interval: 0,
      starting_step: 0,
      ...settings,
    };
    // A retry must not go back a second time.
    const headers = { [IDEMPOTENCY_HEADER]: crypto.randomUUID() };
    const options = { body, headers, repeatable: true };
    const answer = await this.#transport.json("POST", "/register", answers.register, options);
    return answer.headers.get("lachesis-notice");
  }

  /** Takes a batch, or a rank's slice of one, for `lease` seconds. Null when there was none within `wait` seconds. */
  async takeBatch({ lease, wait, trainer, slice, signal }: BatchRequest): Promise<LeasedBatch | null> {
    const query = new URLSearchParams({ lease: `${lease}`, wait: `${wait}` });
    if (trainer !== undefined) query.set("trainer", trainer);
    if (slice !== undefined) {
      query.set("rank", `${slice.rank}`);
      query.set("world_size", `${slice.worldSize}`);
    }
    const response = await this.#transport.send("GET", `/batch?${query}`, {
      repeatable: true,
      timeoutSeconds: wait + 300,
      ...(signal === undefined ? {} : { signal }),
    });
    const id = Number(response.headers.get("lachesis-batch"));
    const step = Number(response.headers.get("lachesis-step"));
    const hold = Number(response.headers.get("lachesis-hold"));
    let body: z.infer<typeof batchBody>;
    try {
      body = await readAnswer("GET /batch", response, batchBody);
    } catch (error) {
      // Its lease would have to end before anyone got it again. A slice is free by itself, and the others' are theirs.
      if (id > 0 && slice === undefined) await this.release(id, { hold }).catch(() => undefined);
      if (error instanceof ClientError) throw error;
      throw new ClientError(0, `batch ${id} broke off: ${String(error)}`, { cause: error });
    }
    const { status, message, batch } = body;
    if (status === "error") throw new ClientError(409, message ?? "the run refused to give a batch");
    return batch === null ? null : { id, step, hold, groups: batch };
  }

  /** Says that a leased batch has been learned from. It is never served again. */
  acknowledge(batch: number, ack: z.input<typeof ackBody> = {}): Promise<BatchChange> {
    return this.#post(`/batches/${batch}/ack`, ack, batchChange);
  }

  /** Gives a leased batch back: it is served again, under the same id. */
  release(batch: number, holder: z.input<typeof releaseBody> = {}): Promise<BatchChange> {
    return this.#post(`/batches/${batch}/release`, holder, batchChange);
  }

  /** Publishes a policy version, or inference endpoints, or both. */
  publish(change: PolicyChange): Promise<Policy> {
    return this.#post("/policy", change, policyAnswer);
  }

  policy(): Promise<Policy> {
    return this.#get("/policy", policyAnswer);
  }

  registerEnvironment(settings: EnvironmentSettings): Promise<Registered> {
    const body = { weight: 1, ...settings };
    // Without a key every registration makes another environment.
    return this.#post("/register-env", body, answers.registerEnvironment, { repeatable: settings.key !== undefined });
  }

  async disconnectEnvironment(id: number): Promise<void> {
    await this.#post("/disconnect-env", { env_id: id }, answers.disconnect);
  }

  /**
   * Asks for up to `count` rollout leases, waiting up to `wait` seconds for the first. With the `key` that the environment
   * registered with, a run that was reset since doesn't take it for the one that has its id now: it answers 404.
   */
  leases(
    environment: number,
    { count, wait, key, signal }: { count: number; wait: number; key?: string; signal?: AbortSignal },
  ): Promise<LeasesAnswer> {
    const body = { env_id: environment, count, wait, ...(key === undefined ? {} : { key }) };
    return this.#post("/leases", body, leasesAnswer, {
      timeoutSeconds: wait + GRACE_SECONDS,
      // What an unheard answer leased would wait for its expiry.
      repeatable: false,
      ...(signal === undefined ? {} : { signal }),
    });
  }

  /** Extends a lease for another attempt, or learns that it is over. */
  renew(lease: number, request: RenewRequest): Promise<RenewAnswer> {
    return this.#post(`/leases/${lease}/renew`, request, renewAnswer, { repeatable: request.failure == null });
  }

  /** Ends a lease without a group. Doing it twice is the same as once. */
  close(lease: number, request: CloseRequest): Promise<CloseAnswer> {
    return this.#post(`/leases/${lease}/close`, request, closeAnswer);
  }

  /** Hands in follow-up items; they count once the lease ends with a group or skipped. Replaces those of an earlier call. */
  async backlog(lease: number, items: readonly unknown[]): Promise<void> {
    await this.#post(`/leases/${lease}/backlog`, { items }, backlogAnswer);
  }

  /** Hands in the groups of a lease: all or none, and once, however often it is called. */
  async submit(lease: number, groups: readonly object[]): Promise<void> {
    await this.#post("/scored_data_list", groups, answers.scoredDataList, {
      headers: { "lachesis-lease": `${lease}` },
    });
  }

  /** What an environment keeps between groups. Null means none; the version is 0 before the first. */
  environmentState(environment: number): Promise<EnvironmentState> {
    return this.#get(`/environments/${environment}/state`, stateAnswer);
  }

  /**
   * Replaces an environment's state if nobody did since `version` was read.
   * @returns the new version, or null if somebody did.
   */
  async saveEnvironmentState(environment: number, version: number, state: unknown): Promise<number | null> {
    try {
      const path = `/environments/${environment}/state`;
      const options = { body: { version, state }, repeatable: false };
      return (await this.#transport.json("PUT", path, stateAnswer, options)).body.version;
    } catch (error) {
      if (error instanceof ClientError && error.status === 409) return null;
      throw error;
    }
  }

  environments(): Promise<EnvironmentsAnswer> {
    return this.#get("/environments", environmentsAnswer);
  }

  /** Leases in the order in which they were given out, those after the id `after`. */
  leaseRecord({ after = 0, limit = 1_000 } = {}): Promise<LeaseList> {
    return this.#get(`/leases?after=${after}&limit=${limit}`, leaseList);
  }

  /** Newest first, those with an id below `before`: `limit` at most, and fewer if they are large. */
  evaluations({
    before,
    limit = 100,
  }: {
    before?: number;
    limit?: number;
  } = {}): Promise<z.infer<typeof evaluationsAnswer>> {
    const from = before === undefined ? "" : `&before=${before}`;
    return this.#get(`/evaluations?limit=${limit}${from}`, evaluationsAnswer);
  }

  async #get<T>(path: string, schema: z.ZodType<T>): Promise<T> {
    return (await this.#transport.json("GET", path, schema, { repeatable: true })).body;
  }

  async #post<T>(path: string, body: unknown, schema: z.ZodType<T>, options: Partial<RequestOptions> = {}): Promise<T> {
    return (await this.#transport.json("POST", path, schema, { body, repeatable: true, ...options })).body;
  }
}
