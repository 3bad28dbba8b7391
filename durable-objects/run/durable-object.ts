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
import { BatchDesk, type BatchHost } from "./batch-desk.ts";
import type { Batch } from "./batches.ts";
import { Discards } from "./discards.ts";
import type { DroppedGroup } from "./dropped-groups.ts";
import type { NewEnvironment } from "./environments.ts";
import { findEnvironment } from "./find-environment.ts";
import { type ForkOrigin, type ForkPage, type ForkPlace, type FoundOrigin, findOrigin, forkPage } from "./fork.ts";
import type { Fork } from "./fork-progress.ts";
import type { BatchRequest, Holder } from "./hand-out.ts";
import { Intake } from "./intake.ts";
import { type RunMetrics, runMetrics } from "./metrics.ts";
import { overview } from "./overview.ts";
import { forget, isWorkLeft, load, type RunParts } from "./parts.ts";
import type { KeptGroup } from "./queue.ts";
import { Registrar } from "./registrar.ts";
import type { Registration } from "./registration.ts";
import type { Ending, Failure, FollowUpAnswer, LeaseAnswer, LeaseChange } from "./rollouts/answers.ts";
import type { NewEndpoint } from "./rollouts/endpoints.ts";
import {
  EnvironmentDesk,
  type EnvironmentReport,
  type NamedEvaluation,
  type StateAnswer,
} from "./rollouts/environment-desk.ts";
import type { LeaseRecord } from "./rollouts/leases.ts";
import { PolicyDesk, type PolicyStatus } from "./rollouts/policy-desk.ts";
import { type RolloutHost, Rollouts } from "./rollouts/rollouts.ts";
import { migrations } from "./schema.ts";
import { Telemetry } from "./telemetry.ts";

/** How soon payloads that nobody needs any more are let go. */
const DISCARD_AFTER_MS = 1_000;

/** One run: the queue of its groups, the batches made of them, its environments. Holds metadata alone. */
export class Run extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #discards: Discards;
  readonly #batches: BatchDesk;
  readonly #alarm: Alarm;
  readonly #rollouts: Rollouts;
  readonly #intake: Intake;
  readonly #registrar: Registrar;
  readonly #policy: PolicyDesk;
  readonly #environmentDesk: EnvironmentDesk;
  readonly #diskLimit: number;
  readonly #telemetry = new Telemetry();
  #parts: RunParts;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    this.#diskLimit = diskLimit(env);
    migrate(ctx.storage, migrations);
    this.#sql = ctx.storage.sql;
    this.#parts = load(this.#sql, Date.now());
    this.#discards = new Discards(this.#sql);
    this.#alarm = new Alarm(ctx.storage);
    const transaction = <T>(change: () => T) => this.#transaction(change);
    const wakeAt = (time: number) => this.#alarm.at(time);
    const drop = (groups: readonly KeptGroup[], reason: string) => this.#drop(groups, reason);
    const telemetry = this.#telemetry;
    const saveState = () => this.#parts.state.save(this.#parts.shards.nextAge);
    const parts = () => this.#parts;
    const scheduleDiscard = () => this.#scheduleDiscard();
    const log: BatchHost["log"] = (...logged) => this.#log(...logged);
    const wakeEnvironments = () => this.#rollouts.wake();
    const common = { transaction, wakeAt, drop, saveState, telemetry, parts, log };
    this.#batches = new BatchDesk({ ...common, wakeEnvironments, scheduleDiscard });
    const host: RolloutHost = { ...common, wakeTrainers: () => this.#batches.wake() };
    this.#rollouts = new Rollouts(host);
    this.#policy = new PolicyDesk(host, () => this.#rollouts.wake());
    this.#environmentDesk = new EnvironmentDesk(host);
    this.#intake = new Intake({
      ...common,
      rollouts: this.#rollouts,
      discards: this.#discards,
      full: () => (this.#sql.databaseSize < this.#diskLimit ? null : { status: "disk_full" }),
      refused: scheduleDiscard,
      queued: () => this.#wakeAll(),
    });
    this.#registrar = new Registrar({
      ...common,
      rewind: (step) => {
        const keptFrom = this.#batches.rewind(step);
        this.#rollouts.wake();
        return keptFrom;
      },
      wakeAll: () => this.#wakeAll(),
    });
    // Whoever sets the alarm first puts off the one that an earlier life may have left: what was due then is due now.
    if (isWorkLeft(this.#sql)) this.#alarm.at(Date.now() + DISCARD_AFTER_MS);
  }

  /** `key` is the environment's, to tell it from one that got its id after a reset; null for whoever has none. */
  leaseRollouts(environment: number, count: number, waitMs: number, key: string | null = null): Promise<LeaseAnswer> {
    return this.#rollouts.ask(environment, count, waitMs, key);
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

  listEvaluations(before: number | null, limit: number): NamedEvaluation[] {
    return this.#environmentDesk.evaluations(before, limit);
  }

  /** Queues the groups of a shard's commit. A commit taken before changes nothing and gets the same verdicts. */
  commit(commit: Commit): readonly (readonly Verdict[])[] {
    return this.#intake.commit(commit);
  }

  /** See {@link Registrar.register}. */
  register(registration: Registration, resumeFrom: number | null = null, key: string | null = null): Registered {
    return this.#registrar.register(registration, resumeFrom, key);
  }

  /** Null until a trainer has registered. */
  registration(): Registration | null {
    return this.#parts.state.registration;
  }

  registerEnvironment(environment: NewEnvironment): RegisteredEnvironment {
    return this.#registrar.registerEnvironment(environment);
  }

  /** Returns false if there is no such environment. */
  disconnectEnvironment(id: number): boolean {
    return this.#registrar.disconnectEnvironment(id);
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
    const run = overview({
      parts: this.#parts,
      handOut: this.#batches.handOut,
      rollouts: this.#rollouts,
      waitingTrainers: this.#batches.waiting,
      losses: this.#telemetry.losses,
      disk: { bytes: this.#sql.databaseSize, limit: this.#diskLimit },
    });
    return { ...run, watchdog: this.#batches.stall(() => run.explain) };
  }

  /** Groups that came into no batch, newest first. */
  listDropped(limit: number): DroppedGroup[] {
    return this.#parts.droppedGroups.list(limit);
  }

  /** One of them, or null if it isn't kept any more. */
  droppedGroup(age: number): DroppedGroup | null {
    return this.#parts.droppedGroups.get(age);
  }

  /** A shard refused groups, as its disk is full: what it keeps to be looked at alone goes. */
  makeRoom(shard: number): void {
    this.#transaction(() => this.#discardAll(this.#parts.droppedGroups.forgetShard(shard)));
    this.#scheduleDiscard();
    this.#intake.full("disk_full");
    this.#wakeAll();
  }

  /** What Prometheus is told. */
  metrics(): RunMetrics {
    const run = this.overview();
    const { watchdog: stall } = run;
    return runMetrics({ parts: this.#parts, overview: run, telemetry: this.#telemetry, stall, now: Date.now() });
  }

  /** What a fork of this run at a step takes along. */
  forkOrigin(step: number | null): FoundOrigin {
    return findOrigin(this.#parts, step);
  }

  /** The next groups of it. */
  forkPage(origin: ForkOrigin, after: ForkPlace): ForkPage {
    return forkPage(this.#parts, origin, after);
  }

  /** How far this run has come in being a copy of another; null if it is none. */
  fork(): Fork | null {
    return this.#parts.fork.fork;
  }

  /** See {@link Registrar.beginFork}. */
  beginFork(source: string, askedStep: number | null, origin: ForkOrigin): Fork | null {
    return this.#registrar.beginFork(source, askedStep, origin);
  }

  /** All groups of the fork are here, so the run begins. False if it was reset meanwhile. */
  completeFork(life: number): boolean {
    return this.#registrar.completeFork(life);
  }

  /** Where the group queued last lies, or null if none ever was. */
  latest(): PayloadAddress | null {
    return this.#parts.shards.latest;
  }

  /** Hands out a batch, waiting for one up to `waitMs`. Whoever waits longest is served first. */
  takeBatch(waitMs: number, asked: Partial<BatchRequest> = {}): Promise<TakenBatch> {
    return this.#batches.take(waitMs, asked);
  }

  /** The last byte of a batch has left, or of a rank's slice. Reporting it twice is the same as once. */
  delivered(batch: number, epoch = 0, rank: number | null = null): void {
    this.#batches.delivered(batch, epoch, rank);
  }

  /** A batch that is open or kept; null if there is none of that id any more. */
  keptBatch(id: number): Batch | null {
    return this.#parts.batches.get(id);
  }

  /** A trainer has learned from a batch: it is never served again. */
  acknowledge(batch: number, ack: TrainerAck): BatchChange {
    return this.#batches.acknowledge(batch, ack);
  }

  /** A trainer gives a batch back: it is served again, under the same id. */
  release(batch: number, holder: Partial<Holder> = {}): BatchChange {
    return this.#batches.release(batch, { trainer: null, hold: null, ...holder });
  }

  /** Forgets trainer, environments, queue and batches. Batch ids and ages go on where they were. */
  reset(): void {
    this.#transaction(() => forget(this.#sql, this.#parts, this.#discards));
    this.#parts = load(this.#sql, Date.now());
    this.#batches.handOut.forgetAll();
    this.#rollouts.forgetAll();
    this.#scheduleDiscard();
  }

  override async alarm(): Promise<void> {
    this.#alarm.wentOff();
    const now = Date.now();
    this.#rollouts.expire(now);
    this.#parts.leases.purge(now);
    this.#parts.keys.purge(now);
    this.#discardAll(this.#parts.droppedGroups.expire(now, this.#diskLimit));
    this.#batches.wake();
    const run = nameOf(this.ctx.id);
    const shard = (number: number) => this.env.PAYLOAD_SHARD.getByName(shardName(run, number));
    const { registration, step } = this.#parts.state;
    const retention = { step, steps: registration?.keep_steps ?? 0, bytes: registration?.keep_bytes ?? 0 };
    const more = await this.#discards.round(this.#parts.batches, retention, this.#parts.shards.latest, {
      discard: (number, payloads) => shard(number).discard(payloads),
      discardThrough: (number, payload, commit) => shard(number).discardThrough(payload, commit),
    });
    if (more) this.#scheduleDiscard();
    this.#batches.lookForStall(() => this.overview().explain);
    const { leases, batches, droppedGroups } = this.#parts;
    const expiries = [
      leases.nextExpiry(),
      this.#batches.handOut.nextExpiry(batches, Date.now()),
      droppedGroups.nextExpiry(),
    ];
    for (const expiry of expiries) if (expiry !== null) this.#alarm.at(expiry);
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

  #log(event: string, fields: Readonly<Record<string, unknown>>, level: "info" | "warn" = "info"): void {
    console[level]({ event, run: nameOf(this.ctx.id), ...fields });
  }

  #wakeAll(): void {
    this.#batches.wake();
    this.#rollouts.wake();
  }

  /** Lets go of groups that come into no batch. They can be looked at for a while. */
  #drop(groups: readonly KeptGroup[], reason: string): void {
    const now = Date.now();
    for (const group of groups) {
      this.#parts.droppedGroups.add(group, reason, now);
      this.#parts.outcomes.add(group.environment, "dropped", reason);
      this.#telemetry.losses.dropped(reason, now);
      this.#log("group dropped", { group: group.age, environment: group.environment, reason });
    }
    this.#scheduleDiscard();
  }

  #discardAll(groups: readonly PayloadAddress[]): void {
    for (const { shard, payload } of groups) this.#discards.add(shard, payload);
  }

  #scheduleDiscard(): void {
    this.#alarm.at(Date.now() + DISCARD_AFTER_MS);
  }
}
