import type { Environment } from "../environments.ts";
import { admissionLimit, hasAllSteps } from "../registration.ts";
import { unlearned } from "../unlearned.ts";
import { Admission, byNeed, reserves } from "./admission.ts";
import { evaluationState } from "./due-evaluations.ts";
import type { Endpoint } from "./endpoints.ts";
import type { Kind, Lease } from "./leases.ts";
import { completions, heldSequences, type RolloutParts, totalSequences } from "./parts.ts";

/** An item whose lease was lost is leased again until it has had this many, and so is an evaluation. */
export const LEASES_PER_ITEM = 5;

/** An environment that has asked for leases within this time takes part in admission. */
const DRAWS_WITHIN_MS = 60_000;

/** A request for rollout leases. */
export interface LeaseRequest {
  readonly environment: number;
  readonly count: number;
}

/** Why an environment gets no lease. */
export type Refusal =
  | "no_trainer"
  | "num_steps"
  | "disconnected"
  | "evaluating"
  | "last_batch"
  | "admission"
  | "lease_larger_than_admission"
  | ReturnType<RolloutParts["endpoints"]["why"]>;

/** What the decisions of one moment share, over all who wait: most need none of it, and thousands may be waiting. */
export interface Moment {
  /** In Unix milliseconds. */
  readonly now: number;
  readonly admission: () => Admission;
  /** What becomes of the batches of the run's steps. */
  readonly unlearned: () => ReturnType<typeof unlearned>;
}

/** Decides who may generate what, over all environments of the run together. */
export class Grants {
  readonly #lastAsked = new Map<number, number>();

  /** Notes that an environment draws leases. */
  asked(environment: number, now: number): void {
    this.#lastAsked.set(environment, now);
  }

  /** Ids of environments begin anew. */
  forgetAll(): void {
    this.#lastAsked.clear();
  }

  /** To decide at this time, in Unix milliseconds. */
  moment(parts: RolloutParts, now: number): Moment {
    return {
      now,
      admission: once(() => this.#admission(parts, now)),
      unlearned: once(() => unlearned(parts.batches, parts.state.registration?.num_steps ?? 0, now)),
    };
  }

  /** Why the environment would get none now, or null if it would. */
  why(parts: RolloutParts, environment: Environment, moment: Moment): Refusal | null {
    const next = this.#next(parts, environment, moment);
    return typeof next === "string" ? next : null;
  }

  /** Gives out what can be given, a lease at a time, those first who need it most. Call it within a transaction. */
  serve(parts: RolloutParts, requests: readonly LeaseRequest[], moment: Moment): Map<LeaseRequest, Lease[]> {
    const granted = new Map<LeaseRequest, Lease[]>();
    let open = requests.map((request) => ({
      request,
      held: heldSequences(parts, request.environment),
      weight: parts.environments.get(request.environment)?.weight ?? 0,
    }));
    while (open.length > 0) {
      open = byNeed(open).flatMap((waiting) => {
        const { request, held } = waiting;
        const lease = this.#grant(parts, request.environment, moment);
        if (lease === null) return [];
        moment.admission().take(request.environment, lease.sequences);
        const leases = [...(granted.get(request) ?? []), lease];
        granted.set(request, leases);
        return leases.length < request.count ? [{ ...waiting, held: held + lease.sequences }] : [];
      });
    }
    for (const id of new Set([...granted.keys()].map(({ environment }) => environment)))
      parts.environments.saveProgress(id);
    return granted;
  }

  /** The bound on queued and leased sequences; null before a trainer registers. */
  limit({ state: { registration } }: RolloutParts): number | null {
    return registration === null ? null : admissionLimit(registration);
  }

  #grant(parts: RolloutParts, id: number, moment: Moment): Lease | null {
    const environment = parts.environments.get(id);
    if (environment === undefined) return null;
    const next = this.#next(parts, environment, moment);
    if (typeof next === "string") return null;
    const { kind, endpoint } = next;
    const { state, leases } = parts;
    const sequences = kind === "train" ? environment.leasing.leaseSequences : 0;
    const work = kind === "train" ? draw(parts, environment) : evaluationOf(environment, state.step);
    const lease = leases.add({
      ...work,
      environment: id,
      kind,
      policyVersion: state.policyVersion ?? state.step,
      step: state.step,
      endpoint: endpoint.id,
      sequences,
      expiresAt: moment.now + environment.leasing.leaseSeconds * 1000,
      admitted: totalSequences(parts) + sequences,
    });
    parts.endpoints.loaded(endpoint.id, kind, completions(lease));
    return lease;
  }

  #next(parts: RolloutParts, environment: Environment, moment: Moment): { kind: Kind; endpoint: Endpoint } | Refusal {
    const { state, endpoints } = parts;
    const { registration } = state;
    const { now } = moment;
    if (registration === null) return "no_trainer";
    if (!environment.connected) return "disconnected";
    if (hasAllSteps(registration, state.step)) return lastEvaluation(parts, environment, moment);
    if (evaluationState(parts, environment) === "due") {
      const endpoint = endpoints.choose(1, "evaluate", now);
      if (endpoint !== null) return { kind: "evaluate", endpoint };
    }
    const limit = admissionLimit(registration);
    const { leaseSequences, evaluationHandling, evaluationLimit } = environment.leasing;
    if (leaseSequences > limit) return "lease_larger_than_admission";
    if (evaluationHandling !== "none" && parts.leases.isEvaluating(environment.id)) {
      const allowed = evaluationHandling === "stop" ? 0 : evaluationLimit * limit;
      if (heldSequences(parts, environment.id) + leaseSequences > allowed) return "evaluating";
    }
    const isFull =
      totalSequences(parts) + leaseSequences > limit || moment.admission().room(environment.id) < leaseSequences;
    suspendFloorIf(isFull, parts, environment, registration.batch_size);
    if (isFull) return "admission";
    const endpoint = endpoints.choose(leaseSequences, "train", now);
    return endpoint === null ? endpoints.why(now) : { kind: "train", endpoint };
  }

  #admission(parts: RolloutParts, now: number): Admission {
    const { registration } = parts.state;
    if (registration === null) return new Admission([], { limit: 0, total: 0 });
    const { max_batches_offpolicy: batches, batch_size: batchSize, mixing } = registration;
    const drawing = parts.environments
      .connected()
      .filter((environment) => now - (this.#lastAsked.get(environment.id) ?? 0) < DRAWS_WITHIN_MS);
    const floors = parts.environments.floors(batchSize, now);
    const limit = admissionLimit(registration);
    const reserved = reserves(
      drawing.map(({ id, weight, leasing }) => {
        return { id, weight, leaseSequences: leasing.leaseSequences, floor: floors.get(id) ?? 0 };
      }),
      { batches, limit, weighted: mixing === "weighted" },
    );
    const claimants = drawing.map(({ id }) => {
      return { id, held: heldSequences(parts, id), reserve: reserved.get(id) ?? 0 };
    });
    return new Admission(claimants, { limit, total: totalSequences(parts) });
  }
}

/**
 * What there is after the last step: no training, but the evaluation that is due, once the policy that is to be evaluated has
 * been made. "num_steps" lets the environment go. That is the answer too where nobody knows that waiting would end: when trainers
 * have left the batches that are yet to be learned from, or no endpoint is known. The evaluation stays due then, for when
 * the environment asks again.
 */
function lastEvaluation(
  parts: RolloutParts,
  environment: Environment,
  moment: Moment,
): { kind: "evaluate"; endpoint: Endpoint } | Refusal {
  const { endpoints } = parts;
  const evaluation = evaluationState(parts, environment);
  if (evaluation === "under_way") return "evaluating";
  if (evaluation === null) return "num_steps";
  const rest = moment.unlearned();
  if (rest !== null) return rest === "awaited" ? "last_batch" : "num_steps";
  const endpoint = endpoints.choose(1, "evaluate", moment.now);
  if (endpoint !== null) return { kind: "evaluate", endpoint };
  return endpoints.count === 0 ? "num_steps" : endpoints.why(moment.now);
}

/** The same value every time, made when it is first asked for. */
function once<T>(make: () => T): () => T {
  let made: { readonly value: T } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Without this a run that filled before an environment with a floor came would wedge (P2): no batch without its groups, no
 * groups without room, no room without a batch. As soon as it holds what its floor asks for, or may make it, the floor counts.
 */
function suspendFloorIf(isFull: boolean, parts: RolloutParts, environment: Environment, batchSize: number): void {
  if (environment.floor === null) return;
  const needed = environment.floor * batchSize;
  parts.environments.suspendFloor(environment.id, isFull && heldSequences(parts, environment.id) < needed);
}

/** What has waited longest, else the next item of the environment's sequence. */
function draw({ waitingItems }: RolloutParts, environment: Environment) {
  const waiting = waitingItems.take(environment.id);
  if (waiting !== null) return waiting;
  const item = environment.nextItem;
  environment.nextItem += 1;
  return { item, backlog: null, seed: seedOf(environment.id, item), attempt: 1 };
}

function evaluationOf(environment: Environment, step: number) {
  const attempt = environment.lostEvaluations + 1;
  environment.evaluatedThrough = step;
  environment.lostEvaluations = 0;
  return { item: null, backlog: null, seed: seedOf(environment.id, -1 - step), attempt };
}

/** 32 bits that look random, and are the same whenever the same item is drawn (the finaliser of MurmurHash3). */
export function seedOf(environment: number, item: number): number {
  let mixed = (Math.imul(environment + 1, 0x9e3779b1) ^ Math.imul(item, 0x85ebca6b)) >>> 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x85ebca6b);
  mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
  return (mixed ^ (mixed >>> 16)) >>> 0;
}
