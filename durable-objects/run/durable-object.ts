import { DurableObject } from "cloudflare:workers";
import { diskLimit } from "../disk.ts";
import { migrate } from "../migrations.ts";
import { nameOf, shardName } from "../names.ts";
import type { Commit, PayloadAddress, Verdict } from "../payloads.ts";
import { Alarm } from "./alarm.ts";
import type {
  BatchChange,
  FoundEnvironmentStatus,
  Registered,
  RegisteredEnvironment,
  RunOverview,
  RunStatus,
  TakenBatch,
  TrainerAck,
  WhichEnvironment,
} from "./answers.ts";
import type { Batch } from "./batches.ts";
import { Discards } from "./discards.ts";
import type { DroppedGroup } from "./dropped-groups.ts";
import { MAX_ENVIRONMENTS, type NewEnvironment } from "./environments.ts";
import { findEnvironment } from "./find-environment.ts";
import { type ForkPage, forkPage } from "./fork.ts";
import { type BatchRequest, HandOut } from "./hand-out.ts";
import { Intake } from "./intake.ts";
import { overview } from "./overview.ts";
import { forget, isWorkLeft, load, type RunParts } from "./parts.ts";
import type { KeptGroup } from "./queue.ts";
import { ignoredSettings, type Registration } from "./registration.ts";
import type { NewEndpoint } from "./rollouts/endpoints.ts";
import {
  EnvironmentDesk,
  type EnvironmentReport,
  type NamedEvaluation,
  type StateAnswer,
} from "./rollouts/environment-desk.ts";
import type { LeaseRecord } from "./rollouts/leases.ts";
import { PolicyDesk, type PolicyStatus } from "./rollouts/policy-desk.ts";
import {
  type Ending,
  type Failure,
  type FollowUpAnswer,
  type LeaseAnswer,
  type LeaseChange,
  type RolloutHost,
  Rollouts,
} from "./rollouts/rollouts.ts";
import { migrations } from "./schema.ts";
import { type Served, Waiters } from "./waiters.ts";

/** How soon payloads that nobody needs any more are let go. */
const DISCARD_AFTER_MS = 1_000;

/** One run: the queue of its groups, the batches made of them, its environments. Holds metadata alone. */
export class Run extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #discards: Discards;
  readonly #handOut: HandOut;
  readonly #waiters: Waiters<BatchRequest, TakenBatch>;
  readonly #alarm: Alarm;
  readonly #rollouts: Rollouts;
  readonly #intake: Intake;
  readonly #policy: PolicyDesk;
  readonly #environmentDesk: EnvironmentDesk;
  readonly #diskLimit: number;
  #parts: RunParts;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#diskLimit = diskLimit(env);
    migrate(ctx.storage, migrations);
    this.#sql = ctx.storage.sql;
    this.#parts = load(this.#sql, Date.now());
    this.#discards = new Discards(this.#sql);
    this.#alarm = new Alarm(ctx.storage);
    this.#waiters = new Waiters(
      (requests) => this.#serve(requests),
      () => this.#nothing(),
    );
    const transaction = <T>(change: () => T) => this.#transaction(change);
    const wakeAt = (time: number) => this.#alarm.at(time);
    const drop = (groups: readonly KeptGroup[], reason: string) => this.#drop(groups, reason);
    const freed = () => this.#waiters.wake();
    this.#handOut = new HandOut({ transaction, wakeAt, drop, freed, formed: () => this.#scheduleDiscard() });
    const saveState = () => this.#parts.state.save(this.#parts.shards.nextAge);
    const wakeTrainers = () => this.#waiters.wake();
    const host: RolloutHost = { transaction, wakeAt, saveState, wakeTrainers, parts: () => this.#parts };
    this.#rollouts = new Rollouts(host);
    this.#policy = new PolicyDesk(host, () => this.#rollouts.wake());
    this.#environmentDesk = new EnvironmentDesk(host);
    this.#intake = new Intake({
      ...host,
      parts: () => this.#parts,
      rollouts: this.#rollouts,
      discards: this.#discards,
      drop,
      full: () => (this.#sql.databaseSize < this.#diskLimit ? null : { status: "disk_full" }),
      refused: () => this.#scheduleDiscard(),
      queued: () => this.#wakeAll(),
    });
    // Whoever sets the alarm first puts off the one that an earlier life may have left: what was due then is due now.
    if (isWorkLeft(this.#sql)) this.#alarm.at(Date.now() + DISCARD_AFTER_MS);
  }

  leaseRollouts(environment: number, count: number, waitMs: number): Promise<LeaseAnswer> {
    return this.#rollouts.ask(environment, count, waitMs);
  }

  renewRollout(lease: number, failure: Failure | null): LeaseChange {
    return this.#rollouts.renew(lease, failure);
  }

  closeRollout(lease: number, ending: Ending): LeaseChange {
    return this.#rollouts.close(lease, ending);
  }

  followUpRollout(lease: number, items: readonly string[]): FollowUpAnswer {
    return this.#rollouts.followUp(lease, items);
  }

  listRollouts(environment: number | null, after: number, limit: number): LeaseRecord[] {
    return this.#rollouts.list(environment, after, limit);
  }

  publishPolicy(version: number | null, endpoints: readonly NewEndpoint[] | null): PolicyStatus {
    return this.#policy.publish(version, endpoints);
  }

  policyStatus(): PolicyStatus {
    return this.#policy.status();
  }

  listEnvironments(after: number, limit: number): EnvironmentReport[] {
    return this.#environmentDesk.list(after, limit);
  }

  environmentState(environment: number): StateAnswer {
    return this.#environmentDesk.state(environment);
  }

  saveEnvironmentState(environment: number, version: number, state: string): StateAnswer {
    return this.#environmentDesk.saveState(environment, version, state);
  }

  listEvaluations(): NamedEvaluation[] {
    return this.#environmentDesk.evaluations();
  }

  /** Queues the groups of a shard's commit. A commit taken before changes nothing and gets the same verdicts. */
  commit(commit: Commit): readonly (readonly Verdict[])[] {
    return this.#intake.commit(commit);
  }

  /**
   * The first trainer settles the run; who comes later joins it. One that goes on from a checkpoint of an earlier step gets
   * every batch after that step again, and the environments' states go back to it.
   */
  register(registration: Registration, resumeFrom: number | null = null): Registered {
    const { state, shards } = this.#parts;
    if (state.registration !== null) {
      if (resumeFrom !== null) {
        const keptFrom = this.#rewind(resumeFrom);
        if (keptFrom !== null) return { status: "not_kept", step: state.step, keptFrom };
      }
      return { status: "registered", ignored: ignoredSettings(state.registration, registration) };
    }
    this.#transaction(() => {
      state.registration = registration;
      state.step = registration.starting_step;
      state.save(shards.nextAge);
    });
    this.#wakeAll();
    return { status: "registered", ignored: [] };
  }

  /** Null until a trainer has registered. */
  registration(): Registration | null {
    return this.#parts.state.registration;
  }

  registerEnvironment(environment: NewEnvironment): RegisteredEnvironment {
    const { state, environments } = this.#parts;
    if (state.registration === null) return { status: "no_trainer" };
    const isKnown = environment.key != null && environments.keyed(environment.key) !== undefined;
    if (!isKnown && environments.count >= MAX_ENVIRONMENTS) return { status: "too_many", limit: MAX_ENVIRONMENTS };
    const { id, wandbName } = environments.register(environment, Date.now(), state.step);
    return { status: "registered", id, wandbName, registration: state.registration, step: state.step };
  }

  /** Returns false if there is no such environment. */
  disconnectEnvironment(id: number): boolean {
    const { environments, queue } = this.#parts;
    const environment = environments.get(id);
    if (environment === undefined) return false;
    this.#transaction(() => {
      environments.disconnect(environment);
      queue.releaseBuffer(id);
    });
    this.#wakeAll();
    return true;
  }

  /** An environment's poll. Counts as a sign of life and writes nothing. */
  environmentStatus(which: WhichEnvironment): FoundEnvironmentStatus {
    const { state, environments, statuses } = this.#parts;
    const found = findEnvironment(environments, which);
    if (found.status !== "environment") return found;
    environments.heard(found.environment, Date.now());
    const environment = statuses.status(found.environment, state.step, state.registration?.batch_size ?? 0);
    return { status: "found", environment };
  }

  status(): RunStatus {
    return { step: this.#parts.state.step, queueSize: this.#parts.queue.index.groups };
  }

  /** The status and why no batch is ready. */
  overview(): RunOverview {
    return overview(this.#parts, this.#handOut, this.#rollouts, this.#waiters.count);
  }

  /** Groups that came into no batch, newest first. */
  listDropped(limit: number): DroppedGroup[] {
    return this.#parts.droppedGroups.list(limit);
  }

  /** One of them, or null if it isn't kept any more. */
  droppedGroup(age: number): DroppedGroup | null {
    return this.#parts.droppedGroups.get(age);
  }

  /** What a fork of this run takes along; see {@link forkPage}. */
  forkPage(step: number | null, from: number): ForkPage {
    return forkPage(this.#parts, step, from);
  }

  /** Where the group queued last lies, or null if none ever was. */
  latest(): PayloadAddress | null {
    return this.#parts.shards.latest;
  }

  /** Hands out a batch, waiting for one up to `waitMs`. Whoever waits longest is served first. */
  async takeBatch(waitMs: number, asked: Partial<BatchRequest> = {}): Promise<TakenBatch> {
    const request: BatchRequest = { leaseMs: 0, trainer: null, slice: null, ...asked };
    if (this.#waiters.count === 0) for (const { answer } of this.#serve([request])) return answer;
    return waitMs > 0 ? this.#waiters.wait(request, waitMs) : this.#nothing();
  }

  /** The last byte of a batch has left. Reporting it twice is the same as once. */
  delivered(batch: number, epoch = 0, rank: number | null = null): void {
    if (this.#handOut.delivered(this.#parts.batches, batch, epoch, rank)) this.#scheduleDiscard();
  }

  /** A batch that is open or kept; null if there is none of that id any more. */
  keptBatch(id: number): Batch | null {
    return this.#parts.batches.get(id);
  }

  /** A trainer has learned from a batch: it is never served again. */
  acknowledge(batch: number, { step, metrics, trainer }: TrainerAck): BatchChange {
    const { batches, state, shards } = this.#parts;
    if (batch < 1 || batch >= state.nextBatch) return { status: "unknown", last: state.nextBatch - 1 };
    const holder = this.#handOut.holder(batches, batch, trainer, Date.now());
    if (holder !== null) return { status: "held", holder };
    const changed = this.#transaction(() => {
      if (!this.#handOut.acknowledge(batches, batch)) return false;
      state.trainer = { batch, step, metrics: { ...metrics } };
      state.save(shards.nextAge);
      return true;
    });
    if (changed) this.#scheduleDiscard();
    return { status: "changed", repeated: !changed };
  }

  /** A trainer gives a batch back: it is served again, under the same id. */
  release(batch: number, trainer: string | null = null): BatchChange {
    const { batches, state } = this.#parts;
    if (batch < 1 || batch >= state.nextBatch) return { status: "unknown", last: state.nextBatch - 1 };
    const holder = this.#handOut.holder(batches, batch, trainer, Date.now());
    if (holder !== null) return { status: "held", holder };
    return { status: "changed", repeated: !this.#handOut.release(batches, batch) };
  }

  /** Forgets trainer, environments, queue and batches. Batch ids and ages go on where they were. */
  reset(): void {
    this.#transaction(() => forget(this.#sql, this.#parts, this.#discards));
    this.#parts = load(this.#sql, Date.now());
    this.#handOut.forgetAll();
    this.#scheduleDiscard();
  }

  override async alarm(): Promise<void> {
    this.#alarm.wentOff();
    const now = Date.now();
    this.#rollouts.expire(now);
    this.#parts.leases.purge(now);
    this.#parts.keys.purge(now);
    for (const { shard, payload } of this.#parts.droppedGroups.expire(now)) this.#discards.add(shard, payload);
    this.#waiters.wake();
    const run = nameOf(this.ctx.id);
    const shard = (number: number) => this.env.PAYLOAD_SHARD.getByName(shardName(run, number));
    const { registration, step } = this.#parts.state;
    const retention = { step, steps: registration?.keep_steps ?? 0, bytes: registration?.keep_bytes ?? 0 };
    const more = await this.#discards.round(this.#parts.batches, retention, this.#parts.shards.latest, {
      discard: (number, payloads) => shard(number).discard(payloads),
      discardThrough: (number, payload, commit) => shard(number).discardThrough(payload, commit),
    });
    if (more) this.#scheduleDiscard();
    const { leases, batches, droppedGroups } = this.#parts;
    const expiries = [leases.nextExpiry(), this.#handOut.nextExpiry(batches, Date.now()), droppedGroups.nextExpiry()];
    for (const expiry of expiries) if (expiry !== null) this.#alarm.at(expiry);
  }

  #nothing(): TakenBatch {
    return { status: this.#parts.state.registration === null ? "unregistered" : "none" };
  }

  /** Changes disk and memory together: if it throws, memory is read anew from what the disk kept. */
  #transaction<T>(change: () => T): T {
    try {
      return this.ctx.storage.transactionSync(change);
    } catch (error) {
      this.#parts = load(this.#sql, Date.now());
      throw error;
    }
  }

  *#serve(requests: readonly BatchRequest[]): Generator<Served<BatchRequest, TakenBatch>> {
    try {
      for (const request of requests) {
        const answer = this.#handOut.take(this.#parts, request, Date.now());
        if (answer === null) break;
        yield { request, answer };
      }
    } finally {
      // A step has ended and room has come, perhaps: environments that wait have to hear of it.
      this.#rollouts.wake();
    }
  }

  #wakeAll(): void {
    this.#waiters.wake();
    this.#rollouts.wake();
  }

  /** Opens every batch after a step again. Returns null, or from where on they are all kept, if some are not. */
  #rewind(step: number): number | null {
    const { state, batches, environmentStates, shards } = this.#parts;
    const keptFrom = batches.keptFrom(state.step);
    if (step < keptFrom - 1) return keptFrom;
    this.#transaction(() => {
      batches.rewind(step);
      environmentStates.restore(step);
      if (state.policyVersion !== null) state.policyVersion = Math.min(state.policyVersion, step);
      state.save(shards.nextAge);
    });
    this.#handOut.forgetAll();
    this.#wakeAll();
    return null;
  }

  /** Lets go of groups that come into no batch. They can be looked at for a while. */
  #drop(groups: readonly KeptGroup[], reason: string): void {
    const now = Date.now();
    for (const group of groups) {
      this.#parts.droppedGroups.add(group, reason, now);
      this.#parts.outcomes.add(group.environment, "dropped", reason);
    }
    this.#scheduleDiscard();
  }

  #scheduleDiscard(): void {
    this.#alarm.at(Date.now() + DISCARD_AFTER_MS);
  }
}
