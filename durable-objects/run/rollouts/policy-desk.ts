import type { EndpointStatus, NewEndpoint } from "./endpoints.ts";
import type { RolloutHost } from "./rollouts.ts";

/** The policy of a run. Field names are the wire's. */
export interface PolicyStatus {
  /** What new rollout leases carry. */
  readonly version: number;
  /** Whether a trainer published it; else it is the run's step. */
  readonly published: boolean;
  readonly endpoints: readonly EndpointStatus[];
}

/** Which policy version is served, and where. */
export class PolicyDesk {
  readonly #host: RolloutHost;
  readonly #onChange: () => void;

  constructor(host: RolloutHost, onChange: () => void) {
    this.#host = host;
    this.#onChange = onChange;
  }

  /** Publishes a version, or other endpoints, or both; null leaves as it is. */
  publish(version: number | null, endpoints: readonly NewEndpoint[] | null): PolicyStatus {
    const { state, endpoints: kept } = this.#host.parts();
    this.#host.transaction(() => {
      if (version !== null) {
        state.policyVersion = version;
        this.#host.saveState();
      }
      if (endpoints !== null) kept.replace(endpoints);
    });
    this.#onChange();
    return this.status();
  }

  status(): PolicyStatus {
    const { state, endpoints } = this.#host.parts();
    return {
      version: state.policyVersion ?? state.step,
      published: state.policyVersion !== null,
      endpoints: endpoints.statuses(Date.now()),
    };
  }
}
