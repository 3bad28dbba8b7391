import type { CommittedGroup, Verdict } from "../../payloads.ts";
import type { Environment } from "../environments.ts";
import { hasAllSteps } from "../registration.ts";
import type { Telemetry } from "../telemetry.ts";
import { repeated } from "../verdicts.ts";
import { type Served, Waiters } from "../waiters.ts";
import { type Ending, type Failure, type FollowUpAnswer, give, type LeaseAnswer, type LeaseChange } from "./answers.ts";
import { Grants, LEASES_PER_ITEM, type LeaseRequest, type Moment, type Refusal, seedOf } from "./grants.ts";
import type { Lease, LeaseRecord, Outcome } from "./leases.ts";
import { LOST_TOO_OFTEN } from "./outcomes.ts";
import { completions, type RolloutParts, totalSequences } from "./parts.ts";
import { MAX_WAITING_ITEMS } from "./waiting-items.ts";
import { refusalInWords } from "./words.ts";

/** What the desks need of the Run. */
export interface RolloutHost {
  parts(): RolloutParts;
  /** Keeps the run's own row. Call it within a transaction. */
  saveState(): void;
  /** Changes disk and memory together. */
  transaction<T>(change: () => T): T;
  readonly telemetry: Telemetry;
  log(event: string, fields: Readonly<Record<string, unknown>>, level?: "info" | "warn"): void;
  /** A batch may have become possible. */
  wakeTrainers(): void;
  /** Makes sure that the Run looks after its leases at this time, in Unix milliseconds. */
  wakeAt(time: number): void;
}

/** Rollout leases of a run: given out, renewed, and ended in exactly one way. */
export class Rollouts {
  readonly #host: RolloutHost;
  readonly #grants = new Grants();
  readonly #waiters: Waiters<LeaseRequest, LeaseAnswer>;

  constructor(host: RolloutHost) {
    this.#host = host;
    this.#waiters = new Waiters(
      (requests) => this.#serve(requests),
      (request) => this.#nothing(request),
    );
  }

  /**
   * Leases for an environment, waiting up to `waitMs` for the first. A request is a sign of life. Ids begin anew with a
   * reset, so `key`, unless it is null, has to be the environment's.
   */
  async ask(environment: number, count: number, waitMs: number, key: string | null): Promise<LeaseAnswer> {
    const now = Date.now();
    this.expire(now);
    const { environments } = this.#host.parts();
    const known = environments.get(environment);
    if (known === undefined) return { status: "unknown_environment", registered: environments.count };
    if (key !== null && key !== known.key) return { status: "another_environment", name: known.wandbName };
    environments.heard(known, now);
    this.#grants.asked(environment, now);
    const request = { environment, count };
    const before = environments.version;
    for (const { answer } of this.#serve([request])) return answer;
    // Its floor may have been suspended: there may be a batch now, and then room.
    if (environments.version !== before) {
      this.#host.wakeTrainers();
      for (const { answer } of this.#serve([request])) return answer;
    }
    return waitMs > 0 ? this.#waiters.wait(request, waitMs) : this.#nothing(request);
  }

  /**
   * Extends a lease. A failure is counted, and if the endpoint is to blame another one is named. A lease whose endpoint was
   * replaced by none that has room is extended all the same: it is not its holder's fault.
   */
  renew(id: number, failure: Failure | null): LeaseChange {
    const now = Date.now();
    this.expire(now);
    const parts = this.#host.parts();
    const lease = parts.leases.open.get(id);
    if (lease === undefined) return this.#closed(parts, id);
    const environment = parts.environments.get(lease.environment);
    if (environment === undefined) return { status: "unknown" };
    parts.environments.heard(environment, now);
    const isGone = parts.endpoints.get(lease.endpoint) === undefined;
    const renewed = this.#host.transaction(() => {
      let endpoint = lease.endpoint;
      if (failure !== null) parts.outcomes.add(lease.environment, "retried", failure.reason);
      if (failure?.endpointFault === true) parts.endpoints.failed(endpoint, now);
      if (failure?.endpointFault === true || isGone) endpoint = this.#move(parts, lease, now) ?? endpoint;
      return parts.leases.renew(lease, now + environment.leasing.leaseSeconds * 1000, endpoint);
    });
    this.#host.wakeAt(renewed.expiresAt);
    if (failure !== null) this.#log("rollout attempt failed", lease, failure);
    const given = give(parts, renewed);
    return given === null ? { status: "no_endpoint" } : { status: "leased", lease: given };
  }

  /** Ends a lease without a group. The first ending counts. */
  close(id: number, ending: Ending): LeaseChange {
    const now = Date.now();
    this.expire(now);
    const parts = this.#host.parts();
    const lease = parts.leases.open.get(id);
    if (lease === undefined) return this.#closed(parts, id);
    if (ending.outcome === "evaluated" && lease.kind !== "evaluate") return { status: "no_evaluation" };
    const reason = ending.outcome === "evaluated" ? null : ending.reason;
    this.#host.transaction(() => {
      this.#end(parts, lease, ending.outcome, reason, now);
      if (ending.outcome === "evaluated")
        parts.evaluations.add({ env_id: lease.environment, step: lease.step, metrics: ending.metrics });
    });
    if (ending.outcome !== "failed") parts.endpoints.succeeded(lease.endpoint);
    else if (ending.endpointFault) parts.endpoints.failed(lease.endpoint, now);
    if (ending.outcome === "failed") this.#log("rollout failed", lease, ending);
    this.#waiters.wake();
    return { status: "closed", outcome: ending.outcome, reason, repeated: false };
  }

  /** Keeps follow-up items, each as JSON, until the lease ends well. Replaces those of an earlier call. */
  followUp(id: number, items: readonly string[]): FollowUpAnswer {
    const parts = this.#host.parts();
    const lease = parts.leases.open.get(id);
    if (lease === undefined) return this.#closed(parts, id);
    if (parts.waitingItems.count(lease.environment) + items.length > MAX_WAITING_ITEMS)
      return { status: "too_many", limit: MAX_WAITING_ITEMS };
    this.#host.transaction(() => parts.followUps.set(id, items));
    return { status: "noted" };
  }

  /** What the groups of an open lease have in common; null for no lease. */
  lease(id: number | null): { lease: number; environment: number; policyVersion: number } | null {
    const lease = id === null ? undefined : this.#host.parts().leases.open.get(id);
    if (lease === undefined) return null;
    return { lease: lease.id, environment: lease.environment, policyVersion: lease.policyVersion };
  }

  list(environment: number | null, after: number, limit: number): LeaseRecord[] {
    return this.#host.parts().leases.list(environment, after, limit);
  }

  /**
   * Looks at the groups of a submission under a lease, before they are queued.
   * @returns null if they may be; else their verdicts: those of the first time, or why not.
   */
  judge(id: number, groups: readonly CommittedGroup[]): readonly Verdict[] | null {
    const { leases } = this.#host.parts();
    const lease = leases.open.get(id);
    if (lease === undefined) {
      const closed = leases.closed(id);
      // Another request than the one that ended it brings nothing.
      if (closed?.verdicts?.length === groups.length) return repeated(closed.verdicts);
      return groups.map((): Verdict => ({ status: "lease_is_over", lease: id, outcome: closed?.outcome ?? "unknown" }));
    }
    const sequences = groups.reduce((sum, group) => sum + group.sequences, 0);
    if (sequences <= lease.sequences) return null;
    return groups.map((): Verdict => ({ status: "larger_than_lease", lease: id, sequences, allowed: lease.sequences }));
  }

  /** The lease's groups were queued. Call it within the transaction that queues them. */
  submitted(id: number, verdicts: readonly Verdict[], now: number): void {
    const parts = this.#host.parts();
    const lease = parts.leases.open.get(id);
    if (lease === undefined) return;
    this.#end(parts, lease, "submitted", null, now, verdicts);
    this.#host.telemetry.rolloutSubmitted(id, now);
    parts.endpoints.succeeded(lease.endpoint);
  }

  /** Ends leases whose time is up. Their items and evaluations are leased again, until they have had enough. */
  expire(now: number): void {
    const parts = this.#host.parts();
    const expired = parts.leases.expired(now);
    if (expired.length === 0) return;
    this.#host.transaction(() => {
      for (const lease of expired) {
        this.#end(parts, lease, "expired", "expired", now);
        if (lease.attempt < LEASES_PER_ITEM) leaseAgain(parts, lease);
        else parts.outcomes.add(lease.environment, "failed", LOST_TOO_OFTEN);
      }
    });
    for (const lease of expired)
      this.#log("rollout lease expired", lease, lease.attempt < LEASES_PER_ITEM ? {} : { reason: LOST_TOO_OFTEN });
    this.#waiters.wake();
  }

  /** Something changed: those who wait are looked after. */
  wake(): void {
    this.#waiters.wake();
  }

  /** After a reset an id is another environment's: whoever waits with one of before gets nothing under it. */
  forgetAll(): void {
    this.#grants.forgetAll();
    this.#waiters.dismiss();
  }

  /** How admission stands. Field names are the wire's. */
  admission() {
    const parts = this.#host.parts();
    return {
      limit_sequences: this.#grants.limit(parts),
      held_sequences: totalSequences(parts),
      leased_sequences: parts.leases.leasedSequences,
      open_leases: parts.leases.open.size,
      // One may wait with several requests: the pumps of two minutes overlap.
      waiting_environments: new Set(this.#waiters.requests().map(({ environment }) => environment)).size,
      blocked: this.#blocked(parts),
    };
  }

  /** Why the environment that has waited longest for a lease gets none; null if none waits. */
  #blocked(parts: RolloutParts): { readonly reason: Refusal; readonly message: string } | null {
    const first = this.#waiters.first;
    const environment = first === null ? undefined : parts.environments.get(first.environment);
    return environment === undefined ? null : this.#refusal(parts, environment);
  }

  /** Why an environment would get no lease now, null if it would. */
  #refusal(
    parts: RolloutParts,
    environment: Environment,
    moment = this.#grants.moment(parts, Date.now()),
  ): { readonly reason: Refusal; readonly message: string } | null {
    const reason = this.#grants.why(parts, environment, moment);
    return reason === null ? null : { reason, message: refusalInWords(reason, parts, environment) };
  }

  #end(
    parts: RolloutParts,
    lease: Lease,
    outcome: Outcome,
    reason: string | null,
    now: number,
    verdicts?: readonly Verdict[],
  ) {
    const followUps = parts.followUps.take(lease.id);
    parts.leases.close(lease, outcome, reason, now, verdicts);
    parts.outcomes.add(lease.environment, outcome, reason);
    parts.endpoints.loaded(lease.endpoint, lease.kind, -completions(lease));
    if (outcome !== "submitted" && outcome !== "skipped") return;
    for (const [index, backlog] of followUps.entries()) {
      const seed = seedOf(lease.seed, index);
      parts.waitingItems.add(lease.environment, { item: null, backlog, seed, attempt: 1 });
    }
  }

  /** Gives a lease another endpoint, if there is one: its own is to blame for a failure, or was replaced. */
  #move(parts: RolloutParts, lease: Lease, now: number): number | null {
    const other = parts.endpoints.choose(completions(lease), lease.kind, now, lease.endpoint);
    if (other === null) return null;
    parts.endpoints.loaded(lease.endpoint, lease.kind, -completions(lease));
    parts.endpoints.loaded(other.id, lease.kind, completions(lease));
    return other.id;
  }

  #log(event: string, lease: Lease, { reason, message }: Partial<Pick<Failure, "reason" | "message">>): void {
    const { id, environment, kind, item, attempt } = lease;
    const name = this.#host.parts().environments.get(environment)?.wandbName;
    this.#host.log(event, { environment, name, lease: id, kind, item, attempt, reason, why: message }, "warn");
  }

  *#serve(requests: readonly LeaseRequest[]): Generator<Served<LeaseRequest, LeaseAnswer>> {
    const now = Date.now();
    const parts = this.#host.parts();
    const moment = this.#grants.moment(parts, now);
    const granted = this.#host.transaction(() => this.#grants.serve(parts, requests, moment));
    for (const [request, leases] of granted) {
      for (const { id, expiresAt } of leases) {
        this.#host.wakeAt(expiresAt);
        this.#host.telemetry.rolloutLeased(id, now);
      }
      const given = leases.flatMap((lease) => give(parts, lease) ?? []);
      const answer = { status: "leased", reason: null, message: "", step: parts.state.step, leases: given } as const;
      yield { request, answer };
    }
    if (!hasAllSteps(parts.state.registration, parts.state.step)) return;
    // Nothing comes any more for those who have evaluated.
    for (const request of requests) {
      const answer = granted.has(request) ? null : this.#nothing(request, moment);
      if (answer?.status === "finished") yield { request, answer };
    }
  }

  #nothing({ environment }: LeaseRequest, moment?: Moment): LeaseAnswer {
    const parts = this.#host.parts();
    const known = parts.environments.get(environment);
    if (known === undefined) return { status: "unknown_environment", registered: parts.environments.count };
    const { reason, message } = this.#refusal(parts, known, moment) ?? { reason: null, message: "" };
    const status = reason === "num_steps" ? "finished" : "none";
    return { status, reason, message, step: parts.state.step, leases: [] };
  }

  #closed({ leases }: RolloutParts, id: number): LeaseChange {
    const closed = leases.closed(id);
    if (closed === null) return { status: "unknown" };
    return { status: "closed", outcome: closed.outcome, reason: closed.reason, repeated: true };
  }
}

/** What a lost lease was for is drawn before anything new. */
function leaseAgain(
  { environments, waitingItems }: RolloutParts,
  { environment, kind, step, item, backlog, seed, attempt }: Lease,
) {
  if (kind === "train") waitingItems.add(environment, { item, backlog, seed, attempt: attempt + 1 });
  else environments.lostEvaluation(environment, step, attempt);
}
