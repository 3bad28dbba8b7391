import type { BatchChange, TakenBatch, TrainerAck } from "./answers.ts";
import type { Batch } from "./batches.ts";
import type { Explanation } from "./explain.ts";
import { type BatchRequest, HandOut, type HandOutHost, type Holder } from "./hand-out.ts";
import type { RunParts } from "./parts.ts";
import { hasAllSteps } from "./registration.ts";
import type { Telemetry } from "./telemetry.ts";
import { type Served, Waiters } from "./waiters.ts";
import { type Stall, Watchdog } from "./watchdog.ts";

/** What the desk needs of the Run. */
export interface BatchHost extends Pick<HandOutHost, "transaction" | "wakeAt" | "drop"> {
  parts(): RunParts;
  readonly telemetry: Telemetry;
  /** Keeps the run's own row. Call it within a transaction. */
  saveState(): void;
  /** A step has ended, or room has come: environments that wait for leases have to hear of it. */
  wakeEnvironments(): void;
  /** Payloads may be let go. */
  scheduleDiscard(): void;
  log(event: string, fields: Readonly<Record<string, unknown>>, level?: "info" | "warn"): void;
}

/** Least time between two looks for a stall, in milliseconds. */
const LOOK_EVERY_MS = 1_000;

/** Trainers' requests about batches. */
export class BatchDesk {
  readonly #host: BatchHost;
  readonly handOut: HandOut;
  readonly #waiters: Waiters<BatchRequest, TakenBatch>;
  readonly #watchdog: Watchdog;

  constructor(host: BatchHost) {
    this.#host = host;
    this.#watchdog = new Watchdog(host.parts().stallNotes.hunger);
    this.handOut = new HandOut({
      ...{ transaction: host.transaction, wakeAt: host.wakeAt, drop: host.drop },
      freed: () => this.wake(),
      formed: (batch, request, now) => this.#formed(batch, request, now),
      again: (batch, request) => this.#again(batch, request),
      roomCame: host.wakeEnvironments,
    });
    this.#waiters = new Waiters(
      (requests) => this.#serve(requests),
      (request) => this.#nothing(request),
    );
  }

  /** Requests that wait for a batch. */
  get waiting(): number {
    return this.#waiters.count;
  }

  /** Something changed: whoever waits is served if that can be. */
  wake(): void {
    this.#waiters.wake();
  }

  /** Hands out a batch, waiting for one up to `waitMs`. Whoever waits longest is served first. */
  async take(waitMs: number, asked: Partial<BatchRequest>): Promise<TakenBatch> {
    const now = Date.now();
    const request: BatchRequest = { leaseMs: 0, trainer: null, slice: null, ...asked, askedAt: now };
    // Whoever waits goes first, but a slice is there for its rank alone.
    const isNext = this.#waiters.count === 0 || this.handOut.isDue(this.#host.parts().batches, request, now);
    if (isNext) for (const { answer } of this.#serve([request])) return answer;
    this.#polledInVain(now);
    const look = this.#watchdog.nextLook(now, this.#waiters.count);
    if (look !== null) this.#host.wakeAt(look);
    return waitMs > 0 ? this.#waiters.wait(request, waitMs) : this.#nothing(null);
  }

  /** The last byte of a batch, or of a rank's slice, has left. */
  delivered(batch: number, epoch: number, rank: number | null): void {
    if (!this.handOut.delivered(this.#host.parts().batches, batch, epoch, rank)) return;
    this.#progressed();
    this.#host.scheduleDiscard();
  }

  acknowledge(batch: number, { step, metrics, trainer, hold }: TrainerAck): BatchChange {
    const refusal = this.#refusal(batch, { trainer, hold });
    if (refusal !== null) return refusal;
    const { batches, state } = this.#host.parts();
    const changed = this.#host.transaction(() => {
      if (!this.handOut.acknowledge(batches, batch)) return false;
      state.trainer = { batch, step, metrics: { ...metrics } };
      this.#host.saveState();
      return true;
    });
    if (changed) {
      this.#progressed();
      this.#host.scheduleDiscard();
      this.#host.telemetry.acknowledged();
      this.#host.log("batch acknowledged", { batch, trainer, step });
      // An evaluation of the policy that it makes may have waited for it.
      this.#host.wakeEnvironments();
    }
    return { status: "changed", repeated: !changed };
  }

  release(batch: number, holder: Holder): BatchChange {
    // It comes again, as the answer got lost.
    if (this.handOut.isGivenBack(this.#host.parts().batches, batch, holder))
      return { status: "changed", repeated: true };
    const refusal = this.#refusal(batch, holder);
    if (refusal !== null) return refusal;
    const released = this.handOut.release(this.#host.parts().batches, batch);
    if (released) this.#host.log("batch released", { batch, trainer: holder.trainer });
    return { status: "changed", repeated: !released };
  }

  /** Opens every batch after a step again. Returns null, or from where on they are all kept, if some are not. */
  rewind(step: number): number | null {
    const { state, batches, environments, environmentStates } = this.#host.parts();
    const { registration } = state;
    const keptFrom = batches.keptFrom(state.step);
    if (step < keptFrom - 1) return keptFrom;
    // Nothing has happened since then, so nothing goes back.
    if (step >= state.step) return null;
    const opened = this.#host.transaction(() => {
      const ids = batches.rewind(step, Date.now());
      environmentStates.restore(step, registration?.save_checkpoint_interval ?? 0);
      if (state.policyVersion !== null) state.policyVersion = Math.min(state.policyVersion, step);
      // The last step's policy is made anew. Before that step others are still to be evaluated.
      if (hasAllSteps(registration, state.step) && !hasAllSteps(registration, step)) environments.evaluateAgain(step);
      this.#host.saveState();
      return ids;
    });
    this.handOut.forget(opened);
    this.#host.log("run rewound", { step, from: state.step });
    this.wake();
    return null;
  }

  /** Null unless trainers have asked in vain for long. */
  stall(explain: () => Explanation): Stall | null {
    return this.#watchdog.look(Date.now(), this.waiting, explain);
  }

  /** Logs, once a minute, that trainers want batches and get none; and looks again as long as they do. */
  lookForStall(explain: () => Explanation): void {
    const now = Date.now();
    const stall = this.#watchdog.toLog(now, this.waiting, explain);
    if (stall !== null) {
      this.#host.log("run stalled", { ...stall }, "warn");
      const { hunger } = this.#watchdog;
      if (hunger !== null) this.#host.parts().stallNotes.hungry(hunger, now);
    }
    const next = this.#watchdog.nextLook(now, this.waiting);
    if (next !== null) this.#host.wakeAt(Math.max(next, now + LOOK_EVERY_MS));
  }

  *#serve(requests: readonly BatchRequest[]): Generator<Served<BatchRequest, TakenBatch>> {
    let isDry = false;
    for (const request of requests) {
      // There may still be slices for ranks, and for nobody else.
      if (isDry && request.slice === null) continue;
      const answer = this.handOut.take(this.#host.parts(), request, Date.now());
      if (answer !== null) yield { request, answer };
      else isDry = true;
    }
  }

  /** What a trainer gets that asked in vain; `waited` is its request if it was held. */
  #nothing(waited: BatchRequest | null): TakenBatch {
    const now = Date.now();
    if (waited !== null) this.#polledInVain(now, now - waited.askedAt);
    return { status: this.#host.parts().state.registration === null ? "unregistered" : "none" };
  }

  #refusal(batch: number, holder: Holder): BatchChange | null {
    const { batches, state } = this.#host.parts();
    if (batch < 1 || batch >= state.nextBatch) return { status: "unknown", last: state.nextBatch - 1 };
    return this.handOut.refusal(batches, batch, holder, Date.now());
  }

  /** To serve the same batch over and over is no progress. */
  #again({ id, trainer: last, leaseUntil, rewound }: Batch, { trainer, askedAt }: BatchRequest): void {
    const now = Date.now();
    this.#polledInVain(now, now - askedAt);
    this.#host.log("batch served again", { batch: id, rewound, lease_over: leaseUntil > 0, trainer, last });
  }

  #polledInVain(now: number, waitedMs = 0): void {
    this.#watchdog.polled(now, waitedMs);
    const { stallNotes, state, queue, environments } = this.#host.parts();
    const { hunger } = this.#watchdog;
    if (hunger === null || !stallNotes.hungry(hunger, now)) return;
    const batchSize = state.registration?.batch_size;
    // Below a batch's sequences it is not the floors that are missing.
    if (batchSize === undefined || queue.index.sequences < batchSize) return;
    for (const [id, floor] of environments.floors(batchSize, now)) {
      const environment = environments.get(id);
      const queued = queue.index.environments.get(id)?.sequences ?? 0;
      if (environment !== undefined && queued < floor) stallNotes.waitsFor(id, environment.lastHeard);
    }
  }

  #progressed(): void {
    this.#watchdog.progressed(Date.now());
    this.#host.parts().stallNotes.clear();
  }

  #formed(batch: Batch, { askedAt, trainer }: BatchRequest, now: number): void {
    const { id, step, groups, leaseUntil } = batch;
    this.#progressed();
    this.#host.scheduleDiscard();
    this.#host.telemetry.batchHandedOut({ step, groups, waitedMs: now - askedAt, now });
    const sequences = groups.reduce((sum, group) => sum + group.sequences, 0);
    const leased = leaseUntil > 0;
    this.#host.log("batch formed", { batch: id, step, groups: groups.length, sequences, trainer, leased });
  }
}
