import { ArrivalTimes } from "./arrival-times.ts";
import { Histogram, type HistogramCounts } from "./histogram.ts";
import { Losses } from "./losses.ts";

const STALENESS_STEPS = [0, 1, 2, 3, 4, 6, 8, 12, 16, 32];
const SEQUENCES = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];
const TOKENS = [64, 256, 1024, 4096, 16_384, 65_536, 262_144, 1_048_576, 4_194_304];
const QUEUE_SECONDS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1800, 3600];
const WAIT_SECONDS = [0, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
const ROLLOUT_SECONDS = [0.5, 1, 2.5, 5, 10, 30, 60, 120, 300, 600, 1200, 1800, 3600];

/** What the Run has counted since its object woke. */
export interface TelemetryCounts {
  readonly acknowledgedBatches: number;
  readonly refusals: Losses["refusals"];
  readonly batchStalenessSteps: HistogramCounts;
  readonly groupQueueSeconds: HistogramCounts;
  readonly batchWaitSeconds: HistogramCounts;
  readonly groupSequences: HistogramCounts;
  readonly groupTokens: HistogramCounts;
  readonly rolloutSeconds: HistogramCounts;
}

export interface QueuedGroup {
  readonly age: number;
  readonly sequences: number;
  /** Σ of the sequences' lengths. */
  readonly tokens: number;
}

export interface HandedOutBatch {
  /** The batch's own. */
  readonly step: number;
  readonly groups: readonly { readonly age: number; readonly policyVersion: number }[];
  /** How long the request for it was held; 0 if it was served at once. */
  readonly waitedMs: number;
  /** Unix milliseconds. */
  readonly now: number;
}

/**
 * Counters and histograms of a run. In memory alone, because a count must not cost a write: they start anew with the object,
 * as counters of Prometheus may (`rate` and `increase` see to it). What the disk knows is not counted here: see metrics.ts.
 */
export class Telemetry {
  readonly losses = new Losses();
  #acknowledgedBatches = 0;
  readonly #groupTimes = new ArrivalTimes();
  readonly #leaseTimes = new ArrivalTimes();
  readonly #batchStalenessSteps = new Histogram(STALENESS_STEPS);
  readonly #groupQueueSeconds = new Histogram(QUEUE_SECONDS);
  readonly #batchWaitSeconds = new Histogram(WAIT_SECONDS);
  readonly #groupSequences = new Histogram(SEQUENCES);
  readonly #groupTokens = new Histogram(TOKENS);
  readonly #rolloutSeconds = new Histogram(ROLLOUT_SECONDS);

  /** A group was queued or buffered, at `now` (Unix milliseconds). Ages rise. */
  groupQueued({ age, sequences, tokens }: QueuedGroup, now: number): void {
    this.#groupTimes.came(age, now);
    this.#groupSequences.observe(sequences);
    this.#groupTokens.observe(tokens);
  }

  /** A new batch was handed out. Not for one that is served again: its groups have been counted. */
  batchHandedOut({ step, groups, waitedMs, now }: HandedOutBatch): void {
    this.#batchWaitSeconds.observe(Math.max(0, waitedMs) / 1000);
    for (const { age, policyVersion } of groups) {
      // The batch itself made the last step. A trainer may publish a version that is ahead of the run's step.
      this.#batchStalenessSteps.observe(Math.max(0, step - 1 - policyVersion));
      observeSince(this.#groupQueueSeconds, this.#groupTimes.of(age), now);
    }
  }

  /** A batch lease ended with an ack. */
  acknowledged(): void {
    this.#acknowledgedBatches += 1;
  }

  /** A rollout lease was given out for the first time. Ids rise. */
  rolloutLeased(lease: number, now: number): void {
    this.#leaseTimes.came(lease, now);
  }

  /** Groups came under a rollout lease and ended it. */
  rolloutSubmitted(lease: number, now: number): void {
    observeSince(this.#rolloutSeconds, this.#leaseTimes.of(lease), now);
  }

  counts(): TelemetryCounts {
    return {
      acknowledgedBatches: this.#acknowledgedBatches,
      refusals: this.losses.refusals,
      batchStalenessSteps: this.#batchStalenessSteps.counts(),
      groupQueueSeconds: this.#groupQueueSeconds.counts(),
      batchWaitSeconds: this.#batchWaitSeconds.counts(),
      groupSequences: this.#groupSequences.counts(),
      groupTokens: this.#groupTokens.counts(),
      rolloutSeconds: this.#rolloutSeconds.counts(),
    };
  }
}

/** What began before this object woke is of unknown length, and left out. */
function observeSince(histogram: Histogram, began: number | null, now: number): void {
  if (began !== null) histogram.observe(Math.max(0, now - began) / 1000);
}
