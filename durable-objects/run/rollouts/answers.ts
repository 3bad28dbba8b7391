import type { Endpoint } from "./endpoints.ts";
import type { Refusal } from "./grants.ts";
import type { Kind, Lease, Outcome } from "./leases.ts";
import type { RolloutParts } from "./parts.ts";

/** A lease as it is given out. Field names are the wire's. */
export interface GivenLease {
  readonly lease_id: number;
  readonly env_id: number;
  readonly kind: Kind;
  readonly item: number | null;
  /** A follow-up item as JSON. */
  readonly backlog: string | null;
  readonly seed: number;
  readonly attempt: number;
  readonly group_size: number;
  readonly policy_version: number;
  readonly step: number;
  readonly endpoint: Endpoint;
  readonly expires_at: number;
  readonly lease_seconds: number;
}

export type LeaseAnswer =
  | { readonly status: "unknown_environment"; readonly registered: number }
  /** The id is an environment's of another name and key. */
  | { readonly status: "another_environment"; readonly name: string }
  | {
      readonly status: "leased" | "none" | "finished";
      readonly reason: Refusal | null;
      readonly message: string;
      readonly step: number;
      readonly leases: readonly GivenLease[];
    };

export type LeaseChange =
  | { readonly status: "unknown" }
  /** The lease goes on, but its endpoint is gone and no other one has room. */
  | { readonly status: "no_endpoint" }
  /** Only a lease to evaluate ends so; nothing was changed. */
  | { readonly status: "no_evaluation" }
  | { readonly status: "leased"; readonly lease: GivenLease }
  | {
      readonly status: "closed";
      readonly outcome: Outcome;
      readonly reason: string | null;
      readonly repeated: boolean;
    };

export type FollowUpAnswer =
  | LeaseChange
  | { readonly status: "noted" }
  | { readonly status: "too_many"; readonly limit: number };

export interface Failure {
  readonly reason: string;
  /** What happened, for the log. */
  readonly message: string;
  readonly endpointFault: boolean;
}

export type Ending =
  | ({ readonly outcome: "skipped" | "failed" } & Omit<Failure, "message"> & Partial<Pick<Failure, "message">>)
  | { readonly outcome: "evaluated"; readonly metrics: Readonly<Record<string, number>> };

/** A lease in the wire's words; null if its endpoint is gone. */
export function give({ environments, endpoints }: RolloutParts, lease: Lease): GivenLease | null {
  const environment = environments.get(lease.environment);
  const endpoint = endpoints.get(lease.endpoint);
  if (environment === undefined || endpoint === undefined) return null;
  return {
    lease_id: lease.id,
    env_id: lease.environment,
    kind: lease.kind,
    item: lease.item,
    backlog: lease.backlog,
    seed: lease.seed,
    attempt: lease.attempt,
    group_size: environment.groupSize,
    policy_version: lease.policyVersion,
    step: lease.step,
    endpoint,
    expires_at: lease.expiresAt,
    lease_seconds: environment.leasing.leaseSeconds,
  };
}
