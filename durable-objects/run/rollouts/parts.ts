import type { Batches } from "../batches.ts";
import type { Environments } from "../environments.ts";
import type { HandOutRecord } from "../hand-out-record.ts";
import type { Queue } from "../queue.ts";
import type { RunState } from "../state.ts";
import { Endpoints } from "./endpoints.ts";
import { EnvironmentStates } from "./environment-states.ts";
import { Evaluations } from "./evaluations.ts";
import { FollowUps } from "./follow-ups.ts";
import { type Lease, Leases } from "./leases.ts";
import { Outcomes } from "./outcomes.ts";
import { WaitingItems } from "./waiting-items.ts";

/** What the Run keeps for the generation of groups. */
export interface RolloutParts {
  readonly state: RunState;
  readonly queue: Queue;
  readonly batches: Batches;
  readonly environments: Environments;
  readonly leases: Leases;
  readonly endpoints: Endpoints;
  readonly followUps: FollowUps;
  readonly waitingItems: WaitingItems;
  readonly outcomes: Outcomes;
  readonly handOutRecord: HandOutRecord;
  readonly evaluations: Evaluations;
  readonly environmentStates: EnvironmentStates;
}

/** Reads them from disk. */
export function loadRollouts(sql: SqlStorage) {
  const leases = new Leases(sql);
  const endpoints = new Endpoints(sql);
  for (const lease of leases.open.values()) endpoints.loaded(lease.endpoint, lease.kind, completions(lease));
  return {
    leases,
    endpoints,
    followUps: new FollowUps(sql),
    waitingItems: new WaitingItems(sql),
    outcomes: new Outcomes(sql),
    evaluations: new Evaluations(sql),
    environmentStates: new EnvironmentStates(sql),
  };
}

/** What a lease weighs on its endpoint. An evaluation paces itself, and counts as one. */
export function completions({ sequences }: Pick<Lease, "sequences">): number {
  return Math.max(1, sequences);
}

/** Sequences an environment holds of the admission bound: queued, buffered and leased. */
export function heldSequences({ queue, leases }: RolloutParts, environment: number): number {
  const queued = queue.index.environments.get(environment)?.sequences ?? 0;
  return queued + queue.bufferedSequences(environment) + leases.sequencesOf(environment);
}

/** The same of the whole run. */
export function totalSequences({ queue, leases }: RolloutParts): number {
  return queue.index.sequences + queue.allBuffered + leases.leasedSequences;
}
