import { z } from "zod";
import { registerEnvironmentBody } from "../../../src/wire/messages.ts";
import {
  closeBody,
  leasesBody,
  MAX_BACKLOG_ITEM,
  MAX_BACKLOG_ITEMS,
  type Outcome,
  type RolloutLease,
  renewBody,
  stateBody,
} from "../../../src/wire/rollouts.ts";
import { fakeEndpoint } from "../inference/testing.ts";
import type { QueuedMessage } from "./platform.ts";

/** How a lease stands at the fake run. */
export interface FakeLease {
  lease: RolloutLease;
  outcome: Outcome | "open";
  reason: string | null;
  /** Failures that were reported, the last one's too. */
  readonly failures: { reason: string; message: string; endpoint_fault: boolean }[];
  renewals: number;
  metrics: Record<string, number>;
  backlog: unknown[];
}

/** A group as a test looks at it. */
export interface SubmittedGroup {
  readonly lease: number;
  readonly tokens: number[][];
  readonly masks: number[][];
  readonly scores: number[];
  readonly inference_logprobs: number[][];
  readonly overrides?: object[];
  readonly env_id: number;
}

/** A run in memory that keeps the server's rules for leases, submissions and states; for tests. */
export class FakeRun {
  readonly leases = new Map<number, FakeLease>();
  readonly groups: SubmittedGroup[] = [];
  readonly registrations: unknown[] = [];
  readonly requests: string[] = [];
  /** With which leases were asked for. */
  readonly keys = new Set<string | null>();
  state: { version: number; state: unknown } = { version: 0, state: null };
  disconnected = 0;
  /** Given out by the next poll. */
  readonly waiting: RolloutLease[] = [];
  trainer: "waiting" | "registered" | "finished" = "registered";
  /** The trainer's; -1 for none. */
  maxTokenLen = 1_000_000;
  /** Stands in for an answer; null lets the request through. */
  intercept: (path: string, request: number) => Response | null | Promise<Response | null> = () => null;

  /** Opens a lease. */
  open(change: Partial<RolloutLease> = {}): RolloutLease {
    const lease_id = this.leases.size + 1;
    const lease: RolloutLease = {
      lease_id,
      env_id: 0,
      kind: "train",
      item: lease_id - 1,
      backlog: null,
      seed: lease_id,
      attempt: 1,
      group_size: 8,
      policy_version: 0,
      step: 0,
      endpoint: fakeEndpoint(),
      expires_at: Date.now() + 600_000,
      lease_seconds: 600,
      ...change,
    };
    this.leases.set(lease_id, {
      lease,
      outcome: "open",
      reason: null,
      failures: [],
      renewals: 0,
      metrics: {},
      backlog: [],
    });
    return lease;
  }

  lease(id: number): FakeLease {
    const found = this.leases.get(id);
    if (found === undefined) throw new Error(`the fake run gave out no lease ${id}`);
    return found;
  }

  readonly fetch = async (request: Request): Promise<Response> => {
    const path = new URL(request.url).pathname.replace(/^\/runs\/[^/]+/, "");
    this.requests.push(`${request.method} ${path}`);
    const instead = await this.intercept(path, this.requests.length - 1);
    if (instead !== null) return instead;
    const body: unknown = request.method === "GET" ? null : await request.json();
    const [, of, id, verb] = /^\/(leases|environments)\/(\d+)\/(\w+)$/.exec(path) ?? [];
    if (of === "leases") return this.#onLease(this.lease(Number(id)), verb ?? "", body);
    if (of === "environments") return this.#onState(request.method, body);
    switch (path) {
      case "/register-env":
        return this.#register(body);
      case "/leases":
        return this.#giveLeases(leasesBody.parse(body));
      case "/info":
        return Response.json({ batch_size: 8, max_token_len: this.maxTokenLen });
      case "/disconnect-env":
        this.disconnected++;
        return Response.json({ status: "success" });
      case "/scored_data_list":
        return this.#submit(Number(request.headers.get("lachesis-lease")), body);
      case "/environments":
        return Response.json({ environments: [] });
      default:
        return Response.json({ detail: `no route ${path}` }, { status: 404 });
    }
  };

  #register(body: unknown): Response {
    registerEnvironmentBody.parse(body);
    this.registrations.push(body);
    if (this.trainer === "waiting") return Response.json({ status: "wait for trainer to start" });
    return Response.json({
      status: "success",
      env_id: 0,
      wandb_name: "fake_0",
      checkpoint_dir: "",
      starting_step: 0,
      checkpoint_interval: 0,
      num_steps: 10,
    });
  }

  #giveLeases({ count, key }: ReturnType<typeof leasesBody.parse>): Response {
    this.keys.add(key);
    const leases = this.waiting.splice(0, count);
    const isEvaluating = [...this.leases.values()].some(
      (kept) => kept.lease.kind === "evaluate" && kept.outcome === "open",
    );
    const isOver = this.trainer === "finished" && !isEvaluating;
    const status = leases.length > 0 ? "leased" : isOver ? "finished" : "none";
    const reason = { finished: "num_steps", leased: null, none: isEvaluating ? "evaluating" : "admission" }[status];
    return Response.json({ status, reason, message: "", step: 0, leases });
  }

  #onLease(kept: FakeLease, verb: string, body: unknown): Response {
    if (verb === "renew") return this.#renew(kept, renewBody.parse(body));
    if (verb === "close") return this.#close(kept, closeBody.parse(body));
    if (kept.outcome !== "open") return over();
    const items = z.object({ items: z.array(z.unknown()) }).parse(body).items;
    const longest = Math.max(0, ...items.map((item) => JSON.stringify(item ?? null).length));
    if (items.length > MAX_BACKLOG_ITEMS || longest > MAX_BACKLOG_ITEM) {
      return Response.json({ detail: "a follow-up is too large, or there are too many" }, { status: 422 });
    }
    kept.backlog = items;
    return Response.json({ status: "noted", items: kept.backlog.length });
  }

  #renew(kept: FakeLease, { failure }: ReturnType<typeof renewBody.parse>): Response {
    const { outcome, reason } = kept;
    if (outcome !== "open") return Response.json({ status: "closed", outcome, reason });
    kept.renewals++;
    if (failure !== null) kept.failures.push(failure);
    const { endpoint } = kept.lease;
    kept.lease = {
      ...kept.lease,
      expires_at: Date.now() + kept.lease.lease_seconds * 1000,
      endpoint: failure?.endpoint_fault ? { ...endpoint, id: endpoint.id + 1, url: "http://other.test" } : endpoint,
    };
    return Response.json({ status: "leased", lease: kept.lease });
  }

  #close(kept: FakeLease, body: ReturnType<typeof closeBody.parse>): Response {
    const repeated = kept.outcome !== "open";
    if (!repeated) {
      kept.outcome = body.outcome;
      kept.reason = body.reason;
      kept.metrics = body.metrics;
      if (body.outcome === "failed") {
        const { message, endpoint_fault } = body;
        kept.failures.push({ reason: body.reason ?? "", message, endpoint_fault });
      }
    }
    return Response.json({ status: "closed", outcome: kept.outcome, reason: kept.reason, repeated });
  }

  #submit(id: number, body: unknown): Response {
    const kept = this.lease(id);
    const groups = Array.isArray(body) ? body : [];
    // The same submission again is the same as once.
    if (kept.outcome === "open") this.groups.push(...groups.map((group) => ({ ...group, lease: id })));
    else if (kept.outcome !== "submitted") return over();
    kept.outcome = "submitted";
    return Response.json({ status: "received", groups_processed: groups.length });
  }

  #onState(method: string, body: unknown): Response {
    if (method === "GET") return Response.json(this.state);
    const { version, state } = stateBody.parse(body);
    if (version !== this.state.version) return Response.json({ detail: "somebody saved first" }, { status: 409 });
    this.state = { version: version + 1, state };
    return Response.json(this.state);
  }
}

function over(): Response {
  return Response.json({ detail: "the lease is over" }, { status: 409 });
}

/** The answer of a run that has no endpoint for a lease. The client needn't wait before it asks again. */
export function busy(status: number): Response {
  return Response.json({ detail: "there is no endpoint" }, { status, headers: { "retry-after": "0" } });
}

/** A message of a queue, which remembers how it was settled. */
export class FakeMessage implements QueuedMessage {
  readonly body: unknown;
  readonly attempts: number;
  settled: "ack" | "retry" | null = null;
  delaySeconds: number | null = null;

  constructor(body: unknown, attempts = 1) {
    this.body = body;
    this.attempts = attempts;
  }

  ack(): void {
    this.settled = "ack";
  }

  retry({ delaySeconds }: { delaySeconds?: number } = {}): void {
    this.settled = "retry";
    this.delaySeconds = delaySeconds ?? null;
  }
}

/** The message of a lease, as the pump puts it on the queue. */
export function messageOfLease(lease: RolloutLease, attempts = 1): FakeMessage {
  return new FakeMessage({ run: "default", lease }, attempts);
}
