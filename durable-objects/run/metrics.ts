import type { RunOverview } from "./answers.ts";
import { type OutcomeCounts, outcomeCounts } from "./outcome-counts.ts";
import type { RunParts } from "./parts.ts";
import type { Telemetry, TelemetryCounts } from "./telemetry.ts";
import type { Stall } from "./watchdog.ts";

/** All that a run's metrics are made of. */
export interface RunMetrics {
  readonly overview: RunOverview;
  readonly bufferedSequences: number;
  /** Over resets too: ids of batches go on. */
  readonly handedOutBatches: number;
  readonly isStalled: boolean;
  readonly outcomes: OutcomeCounts;
  readonly endpoints: readonly {
    readonly id: number;
    readonly url: string;
    readonly model: string;
    readonly backend: string;
    readonly healthy: boolean;
    readonly inFlight: number;
  }[];
  readonly telemetry: TelemetryCounts;
}

export interface Measured {
  readonly parts: Pick<RunParts, "state" | "queue" | "environments" | "outcomes" | "endpoints">;
  readonly overview: RunOverview;
  readonly telemetry: Telemetry;
  readonly stall: Stall | null;
  /** Unix milliseconds. */
  readonly now: number;
}

/** A run's metrics, from what its disk and memory know and what its telemetry has counted. Writes nothing. */
export function runMetrics({ parts, overview, telemetry, stall, now }: Measured): RunMetrics {
  const { state, queue, environments, outcomes, endpoints } = parts;
  return {
    overview,
    bufferedSequences: queue.allBuffered,
    handedOutBatches: state.nextBatch - 1,
    isStalled: stall !== null,
    // Names that an earlier release took may hold halves of characters, which are all the same once they are sent.
    outcomes: outcomeCounts(outcomes.all(), (id) => environments.get(id)?.wandbName.toWellFormed() ?? null),
    endpoints: endpoints.statuses(now).map(({ id, url, model, backend, healthy, in_flight }) => ({
      ...{ id, url, model, backend, healthy },
      inFlight: in_flight,
    })),
    telemetry: telemetry.counts(),
  };
}
