import { isAlive } from "../environments.ts";
import { type EvaluationState, evaluationState } from "./due-evaluations.ts";
import type { EnvironmentState } from "./environment-states.ts";
import type { KeptEvaluation } from "./evaluations.ts";
import type { RolloutHost } from "./rollouts.ts";

/** How an environment does. Field names are the wire's. */
export interface EnvironmentReport {
  readonly env_id: number;
  readonly name: string;
  readonly connected: boolean;
  readonly alive: boolean;
  readonly last_heard_seconds: number;
  readonly weight: number;
  readonly floor: number | null;
  readonly group_size: number;
  readonly queued_sequences: number;
  readonly leased_sequences: number;
  readonly next_item: number;
  readonly backlog_items: number;
  readonly evaluation: EvaluationState;
  readonly outcomes: Record<string, Record<string, number>>;
  readonly handed_out_groups: number;
  readonly handed_out_sequences: number;
  /** Of all sequences handed out since the run began or was reset. */
  readonly share: number;
  /** Groups by staleness at hand-out, in steps. */
  readonly staleness: Readonly<Record<string, number>>;
}

export type StateAnswer =
  | { readonly status: "unknown_environment" }
  | ({ readonly status: "kept" | "conflict" } & EnvironmentState);

export type NamedEvaluation = KeptEvaluation & { readonly name: string };

/** How the environments of a run do, what they keep between groups, and what their evaluations brought. */
export class EnvironmentDesk {
  readonly #host: RolloutHost;

  constructor(host: RolloutHost) {
    this.#host = host;
  }

  /** Environments with an id above `after`, `limit` at most. */
  list(after: number, limit: number): EnvironmentReport[] {
    const parts = this.#host.parts();
    const { environments, queue, leases, waitingItems, outcomes, handOutRecord } = parts;
    const now = Date.now();
    const counts = outcomes.all();
    const handedOut = handOutRecord.all();
    const allSequences = [...handedOut.values()].reduce((sum, { sequences }) => sum + sequences, 0);
    const reports: EnvironmentReport[] = [];
    for (const environment of environments.all()) {
      if (environment.id <= after) continue;
      if (reports.length === limit) break;
      const { id } = environment;
      reports.push({
        env_id: id,
        name: environment.wandbName,
        connected: environment.connected,
        alive: isAlive(environment, now),
        last_heard_seconds: Math.round((now - environment.lastHeard) / 1000),
        weight: environment.weight,
        floor: environment.floor,
        group_size: environment.groupSize,
        queued_sequences: (queue.index.environments.get(id)?.sequences ?? 0) + queue.bufferedSequences(id),
        leased_sequences: leases.sequencesOf(id),
        next_item: environment.nextItem,
        backlog_items: waitingItems.count(id),
        evaluation: evaluationState(parts, environment),
        outcomes: counts.get(id) ?? {},
        handed_out_groups: handedOut.get(id)?.groups ?? 0,
        handed_out_sequences: handedOut.get(id)?.sequences ?? 0,
        share: allSequences === 0 ? 0 : (handedOut.get(id)?.sequences ?? 0) / allSequences,
        staleness: handedOut.get(id)?.staleness ?? {},
      });
    }
    return reports;
  }

  state(environment: number): StateAnswer {
    const { environments, environmentStates } = this.#host.parts();
    if (environments.get(environment) === undefined) return { status: "unknown_environment" };
    return { status: "kept", ...environmentStates.get(environment) };
  }

  /** Replaces an environment's state, JSON, if it is still at `version`. */
  saveState(environment: number, version: number, state: string): StateAnswer {
    const { environments, environmentStates } = this.#host.parts();
    const known = environments.get(environment);
    if (known === undefined) return { status: "unknown_environment" };
    environments.heard(known, Date.now());
    const { replaced, ...kept } = environmentStates.replace(environment, version, state);
    return { status: replaced ? "kept" : "conflict", ...kept };
  }

  /** Those with an id below `before`, newest first; `limit` at most, and fewer if they are large. */
  evaluations(before: number | null, limit: number): NamedEvaluation[] {
    const { environments, evaluations } = this.#host.parts();
    return evaluations.list(before, limit).map((evaluation) => {
      const name = environments.get(evaluation.env_id)?.wandbName ?? `${evaluation.env_id}`;
      return { ...evaluation, name };
    });
  }
}
