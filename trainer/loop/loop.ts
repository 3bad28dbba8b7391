import {
  type Client,
  ClientError,
  type LeasedBatch,
  type PolicyChange,
  type TrainerSettings,
} from "../../src/client/client.ts";
import { BACKOFF, type Backoff, untilThere } from "./away.ts";
import { assertFits, loadCheckpoint, type Settings, saveCheckpoint } from "./checkpoint.ts";
import { type LoopEvent, trend } from "./events.ts";
import { lastEvaluations, PATIENCE, type Patience } from "./last-evaluations.ts";
import type { Learner, Metrics } from "./learner.ts";
import { stalenessOf } from "./staleness.ts";

/** Seconds a batch is leased for: far longer than a step takes. */
const LEASE_SECONDS = 300;
/** Seconds one request waits for a batch; after that the trainer says why there is none. */
const WAIT_SECONDS = 10;
/** A batch that can't be learned from so often in a row never will. */
const MAX_FAILURES = 3;

export interface LoopOptions {
  /** Of one run, with a token of role trainer. Its own retries only delay what is said of a server that is away. */
  readonly client: Client;
  readonly run: string;
  readonly learner: Learner;
  readonly batchSize: number;
  readonly maxTokenLength: number;
  /** The step at which the run ends. */
  readonly steps: number;
  /** Batches that are learned from between two checkpoints. */
  readonly checkpointInterval: number;
  /** Bound on queued and leased groups, in batches. */
  readonly maxBatchesOffpolicy: number;
  /** Groups older than this many steps are dropped; null for no bound. */
  readonly maxStaleness: number | null;
  /** Where the policy is served; published when the loop begins. */
  readonly endpoints: NonNullable<PolicyChange["endpoints"]>;
  /** Folder of the checkpoints; null for none. */
  readonly checkpoints: string | null;
  /** Goes on from the run's checkpoint if there is one. */
  readonly resume: boolean;
  readonly onEvent: (event: LoopEvent) => void;
  /** Ends the loop, after a checkpoint. */
  readonly signal?: AbortSignal;
  readonly backoff?: Backoff;
  /** With evaluations that are under way after the last step: the policy is served as long as the loop goes on. */
  readonly patience?: Patience;
}

/**
 * Trains on a run's batches, one after the other, until it has `steps` steps. Each batch is leased, learned from, then
 * acknowledged; the policy version published in between is the batch's step. After the last one it waits for the environments
 * that evaluate the final policy.
 * @throws CheckpointError when the checkpoint was made with other settings; ClientError when the server refuses, by a wrong
 * token for instance; the learner's error when a batch can't be learned from; the signal's reason.
 */
export async function train(options: LoopOptions): Promise<void> {
  const loop = new Loop(options);
  await loop.run();
}

class Loop {
  readonly #options: LoopOptions;
  readonly #settings: Settings;
  /** The policy version: the highest step of a batch that was learned from, or that is gone. Never falls. */
  #step = 0;
  /** The id of the last batch that was learned from. */
  #learned: number | null = null;
  /** Batches that were learned from since the last checkpoint. */
  #unsaved = 0;
  #rewards: number[] = [];
  #failures = 0;

  constructor(options: LoopOptions) {
    this.#options = options;
    this.#settings = {
      ...options.learner.settings,
      batch_size: options.batchSize,
      steps: options.steps,
    };
  }

  async run(): Promise<void> {
    const { client, steps, onEvent, signal, patience = PATIENCE } = this.#options;
    const onWaiting = (environments: readonly string[]) => onEvent({ event: "evaluating", environments });
    this.#resume();
    if (this.#step < steps) {
      try {
        await this.#reach(() => this.#register());
        while (this.#step < steps) {
          signal?.throwIfAborted();
          const batch = await this.#reach(() => this.#take());
          if (batch !== null) await this.#use(batch);
        }
      } finally {
        this.#save();
        if (signal?.aborted === true) onEvent({ event: "stopped", ...this.#summary() });
      }
      await lastEvaluations(client, { onWaiting, onAway: this.#onAway }, patience, signal);
    }
    onEvent({ event: "finished", ...this.#summary() });
  }

  #summary() {
    const { first, last } = trend(this.#rewards);
    return { steps: this.#rewards.length, reward_first: first, reward_last: last };
  }

  #resume(): void {
    const { checkpoints, resume, run, learner, onEvent } = this.#options;
    if (checkpoints === null || !resume) return;
    const checkpoint = loadCheckpoint(checkpoints, run);
    if (checkpoint === null) return;
    assertFits(checkpoint, checkpoints, this.#settings);
    learner.load(checkpoint.learner);
    this.#step = checkpoint.step;
    this.#learned = checkpoint.batch;
    this.#rewards = [...checkpoint.rewards];
    onEvent({ event: "resumed", step: this.#step, ...this.#summary() });
  }

  /** Registers and says where which policy version is served. */
  async #register(): Promise<void> {
    const { client, batchSize, maxTokenLength, steps, checkpoints, checkpointInterval, endpoints, onEvent } =
      this.#options;
    const settings: TrainerSettings = {
      batch_size: batchSize,
      max_token_len: maxTokenLength,
      num_steps: steps,
      starting_step: this.#step,
      checkpoint_dir: checkpoints ?? "",
      save_checkpoint_interval: checkpointInterval,
      max_batches_offpolicy: this.#options.maxBatchesOffpolicy,
      max_staleness: this.#options.maxStaleness,
    };
    const runStep = (await client.overview()).current_step;
    const isNew = this.#step === 0 && runStep === 0;
    const notice = isNew ? await client.registerTrainer(settings) : await this.#goOn(settings, runStep);
    if (notice !== null) onEvent({ event: "notice", message: notice });
    await client.publish({ version: this.#step, endpoints });
    onEvent({ event: "registered", step: this.#step });
  }

  /**
   * Asks for the batches again that this policy has not learned from. Without those that are gone it goes on all the same, from
   * the run's step: with an older version all that it samples could be too stale. A run that hasn't come as far as the policy
   * is another one, begun anew: to join it or not is for a person to say.
   */
  async #goOn(settings: TrainerSettings, runStep: number): Promise<string | null> {
    const { client, onEvent } = this.#options;
    const steps = { step: this.#step, run_step: runStep };
    try {
      const notice = await client.registerTrainer({ ...settings, resume_from_step: this.#step });
      if (runStep > this.#step) onEvent({ event: "rewound", ...steps });
      return notice;
    } catch (error) {
      if (!isConflict(error) || runStep < this.#step) throw error;
      onEvent({ event: "notice", message: error.message });
      const notice = await client.registerTrainer(settings);
      if (runStep > this.#step) onEvent({ event: "missed", ...steps });
      this.#step = Math.max(this.#step, runStep);
      return notice;
    }
  }

  async #take(): Promise<LeasedBatch | null> {
    const { client, onEvent, signal } = this.#options;
    try {
      const taken = await client.takeBatch({
        lease: LEASE_SECONDS,
        wait: WAIT_SECONDS,
        ...(signal === undefined ? {} : { signal }),
      });
      if (taken === null) onEvent({ event: "waiting", message: (await client.overview()).explain.message });
      return taken;
    } catch (error) {
      // The run was reset, or its state is gone: it is a new one, which goes on with this policy.
      if (!isConflict(error)) throw error;
      await this.#register();
      return null;
    }
  }

  async #use(batch: LeasedBatch): Promise<void> {
    const { learner, checkpointInterval, onEvent, client } = this.#options;
    if (batch.id === this.#learned) {
      // Its acknowledgement was lost.
      await this.#acknowledge(batch, {});
      return;
    }
    const started = performance.now();
    let metrics: Metrics;
    try {
      metrics = await learner.learn(batch.groups, batch.step);
    } catch (error) {
      await this.#endTurn(() => client.release(batch.id, { hold: batch.hold }));
      const message = error instanceof Error ? error.message : String(error);
      onEvent({ event: "failed", batch: batch.id, step: batch.step, message });
      this.#failures += 1;
      if (this.#failures >= MAX_FAILURES) throw error;
      return;
    }
    const staleness = stalenessOf(batch.groups, this.#step);
    const seconds = (performance.now() - started) / 1000;
    this.#failures = 0;
    // A batch that another life of this trainer held may come late.
    if (batch.step <= this.#step) onEvent({ event: "late", batch: batch.id, batch_step: batch.step, step: this.#step });
    this.#step = Math.max(this.#step, batch.step);
    this.#learned = batch.id;
    this.#rewards.push(metrics.reward_mean);
    this.#unsaved += 1;
    if (this.#unsaved >= checkpointInterval) this.#save();
    // Before the acknowledgement, so that the next groups' leases name this version.
    await this.#reach(() => client.publish({ version: this.#step }));
    await this.#acknowledge(batch, { ...metrics, seconds, ...(staleness === null ? {} : { staleness }) });
    onEvent({ event: "step", step: batch.step, batch: batch.id, ...metrics, staleness, seconds });
  }

  /** Saves a checkpoint unless there is one of this state. */
  #save(): void {
    const { run, learner, checkpoints } = this.#options;
    if (checkpoints === null || this.#unsaved === 0) return;
    saveCheckpoint(checkpoints, {
      run,
      step: this.#step,
      batch: this.#learned,
      rewards: this.#rewards,
      settings: this.#settings,
      learner: learner.save(),
    });
    this.#unsaved = 0;
  }

  async #acknowledge({ id, hold }: LeasedBatch, metrics: Record<string, number>): Promise<void> {
    const finite = Object.fromEntries(Object.entries(metrics).filter(([, value]) => Number.isFinite(value)));
    await this.#endTurn(() => this.#options.client.acknowledge(id, { step: this.#step, metrics: finite, hold }));
  }

  /** Acknowledges a batch or gives it back. One that isn't this trainer's any more is let go. */
  async #endTurn(request: () => Promise<unknown>): Promise<void> {
    const { onEvent } = this.#options;
    try {
      await this.#reach(request);
    } catch (error) {
      // The run was reset meanwhile, or the lease ended and another trainer has the batch. What was learned stays.
      if (!isConflict(error)) throw error;
      onEvent({ event: "notice", message: error.message });
    }
  }

  readonly #onAway = (message: string, seconds: number) => {
    this.#options.onEvent({ event: "away", message, retry_in_seconds: seconds });
  };

  #reach<T>(request: () => Promise<T>): Promise<T> {
    const { onEvent, signal, backoff = BACKOFF } = this.#options;
    return untilThere(
      request,
      {
        onAway: this.#onAway,
        onBack: (seconds) => onEvent({ event: "back", away_seconds: seconds }),
      },
      backoff,
      signal,
    );
  }
}

function isConflict(error: unknown): error is ClientError {
  return error instanceof ClientError && (error.status === 404 || error.status === 409);
}
