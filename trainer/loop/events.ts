/** What the loop tells while it runs, as a line of JSON each. Steps are the run's. */
export type LoopEvent =
  | ResumedEvent
  | { readonly event: "registered"; readonly step: number }
  | { readonly event: "notice"; readonly message: string }
  /** The run had come to `run_step`, and goes on from `step` again. */
  | { readonly event: "rewound"; readonly step: number; readonly run_step: number }
  /** The run's batches after `step`, up to `run_step`, are gone: they are not learned from. */
  | { readonly event: "missed"; readonly step: number; readonly run_step: number }
  /** A batch of a step that the policy has passed. */
  | { readonly event: "late"; readonly batch: number; readonly batch_step: number; readonly step: number }
  | { readonly event: "waiting"; readonly message: string }
  | { readonly event: "away"; readonly message: string; readonly retry_in_seconds: number }
  | { readonly event: "back"; readonly away_seconds: number }
  | { readonly event: "failed"; readonly batch: number; readonly step: number; readonly message: string }
  /** All steps are done, and these environments evaluate the policy. */
  | { readonly event: "evaluating"; readonly environments: readonly string[] }
  | StepEvent
  | FinishedEvent;

export interface ResumedEvent extends Omit<FinishedEvent, "event"> {
  readonly event: "resumed";
  readonly step: number;
}

export interface StepEvent {
  readonly event: "step";
  readonly step: number;
  readonly batch: number;
  readonly reward_mean: number;
  readonly loss: number;
  /** By how many steps the batch lay behind the policy; null when no group says its version. */
  readonly staleness: number | null;
  /** From having the batch to having learned from it. */
  readonly seconds: number;
  readonly [metric: string]: string | number | null;
}

/** The run has all its steps; or the trainer was told to stop. */
export interface FinishedEvent {
  readonly event: "finished" | "stopped";
  readonly steps: number;
  /** Mean reward of the first and of the last ten steps; null before the first step. */
  readonly reward_first: number | null;
  readonly reward_last: number | null;
}

/** Steps that a mean reward is taken over, for a trend. */
export const REWARD_WINDOW = 10;

/** Mean reward of the first and of the last steps. */
export function trend(rewards: readonly number[]): { first: number | null; last: number | null } {
  return { first: mean(rewards.slice(0, REWARD_WINDOW)), last: mean(rewards.slice(-REWARD_WINDOW)) };
}

/** Null for none. */
export function mean(values: readonly number[]): number | null {
  return values.length === 0 ? null : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** The event in words, for a person. */
export function eventText(event: LoopEvent): string {
  switch (event.event) {
    case "resumed":
      return `going on from the checkpoint of step ${event.step} (${event.steps} steps done)`;
    case "registered":
      return `registered, at step ${event.step}`;
    case "notice":
      return `the server says: ${event.message}`;
    case "rewound":
      return `the run had come to step ${event.run_step}: it goes on from step ${event.step}, and its batches since then come again`;
    case "missed":
      return `the run goes on from step ${event.run_step} with the policy of step ${event.step}: what is gone of the batches in between is never learned from. A shorter --save-checkpoint-interval loses less`;
    case "late":
      return `batch ${event.batch} is of step ${event.batch_step}, which came late: it is learned from, and the policy stays at step ${event.step}`;
    case "waiting":
      return `waiting for a batch: ${event.message}`;
    case "away":
      return `the server is away (${event.message}); trying again in ${event.retry_in_seconds} s`;
    case "back":
      return `the server is back after ${event.away_seconds.toFixed(1)} s`;
    case "failed":
      return `step ${event.step} failed, batch ${event.batch} was given back: ${event.message}`;
    case "evaluating":
      return `all steps are done; the policy is served until ${event.environments.join(", ")} has evaluated it`;
    case "step": {
      const staleness = event.staleness === null ? "" : ` | staleness ${event.staleness.toFixed(1)}`;
      return `step ${event.step} | reward ${event.reward_mean.toFixed(3)} | loss ${event.loss.toFixed(4)}${staleness} | ${event.seconds.toFixed(2)} s`;
    }
    case "finished":
    case "stopped":
      return `${event.event} after ${event.steps} steps: mean reward ${event.reward_first?.toFixed(3) ?? "-"} in the first ten, ${event.reward_last?.toFixed(3) ?? "-"} in the last ten`;
  }
}
