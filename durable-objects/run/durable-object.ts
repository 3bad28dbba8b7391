import { DurableObject } from "cloudflare:workers";
import { migrate } from "../migrations.ts";
import { nameOf, shardName } from "../names.ts";
import type { Commit, CommittedGroup, PayloadAddress, Verdict } from "../payloads.ts";
import { Alarm } from "./alarm.ts";
import type {
  BatchChange,
  FoundEnvironmentStatus,
  RegisteredEnvironment,
  RunOverview,
  RunStatus,
  TakenBatch,
  WhichEnvironment,
} from "./answers.ts";
import { Batches } from "./batches.ts";
import { Discards } from "./discards.ts";
import { EnvironmentStatuses } from "./environment-status.ts";
import { type Environment, Environments, isAlive, MAX_ENVIRONMENTS, type NewEnvironment } from "./environments.ts";
import { explanation } from "./explain.ts";
import { type BatchRequest, HandOut } from "./hand-out.ts";
import { type KeptGroup, keep, Queue } from "./queue.ts";
import { ignoredSettings, type Registration } from "./registration.ts";
import { EnvironmentDesk } from "./rollouts/environment-desk.ts";
import { loadRollouts } from "./rollouts/parts.ts";
import { PolicyDesk } from "./rollouts/policy-desk.ts";
import { type RolloutHost, Rollouts } from "./rollouts/rollouts.ts";
import { migrations } from "./schema.ts";
import { Shards } from "./shards.ts";
import { RunState } from "./state.ts";
import { type Served, Waiters } from "./waiters.ts";

/** How soon payloads that nobody needs any more are let go. */
const DISCARD_AFTER_MS = 1_000;

/** Tables that a reset empties. */
const FORGOTTEN_AT_RESET = [
  "environment",
  "queued_group",
  "batch",
  "batch_part",
  "discard",
  "waiting_item",
  "outcome",
  "evaluation",
  "environment_state",
  "environment_checkpoint",
] as const;

/** What a run consists of, as read from disk. */
function load(sql: SqlStorage, now: number) {
  const state = new RunState(sql);
  const queue = new Queue(sql);
  const environments = new Environments(sql, now);
  return {
    state,
    queue,
    environments,
    shards: new Shards(sql, state.firstAge),
    batches: new Batches(sql),
    statuses: new EnvironmentStatuses(environments, queue.index),
    ...loadRollouts(sql),
  };
}

/** One run: the queue of its groups, the batches made of them, its environments. Holds metadata alone. */
export class Run extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #discards: Discards;
  readonly #handOut: HandOut;
  readonly #waiters: Waiters<BatchRequest, TakenBatch>;
  readonly #alarm: Alarm;
  readonly #rollouts: Rollouts;
  readonly #policy: PolicyDesk;
  readonly #environmentDesk: EnvironmentDesk;
  #parts: ReturnType<typeof load>;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
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
    this.#handOut = new HandOut({ transaction, wakeAt, drop, freed: () => this.#waiters.wake() });
    const saveState = () => this.#parts.state.save(this.#parts.shards.nextAge);
    const host: RolloutHost = { transaction, wakeAt, saveState, parts: () => this.#parts };
    this.#rollouts = new Rollouts(host);
    this.#policy = new PolicyDesk(host, () => this.#rollouts.wake());
    this.#environmentDesk = new EnvironmentDesk(host);
    // Whoever sets the alarm first puts off the one that an earlier life may have left: what was due then is due now.
    if (this.#isWorkLeft()) this.#alarm.at(Date.now() + DISCARD_AFTER_MS);
  }

  /** Rollout leases. */
  get rollouts(): Rollouts {
    return this.#rollouts;
  }

  /** The policy version and the inference endpoints. */
  get policy(): PolicyDesk {
    return this.#policy;
  }

  /** How environments do, what they keep, what their evaluations brought. */
  get environments(): EnvironmentDesk {
    return this.#environmentDesk;
  }

  /** Queues the groups of a shard's commit. A commit taken before changes nothing and gets the same verdicts. */
  commit(commit: Commit): readonly (readonly Verdict[])[] {
    const taken = this.#parts.shards.verdictsIfTaken(commit);
    if (taken !== null) return taken;
    this.#rollouts.expire(Date.now());
    let isRefused = false;
    const verdicts = this.#transaction(() => {
      let latest: PayloadAddress | null = null;
      const answers = commit.requests.map((groups) => {
        const lease = groups[0]?.lease ?? null;
        const refusal = this.#refusal(groups) ?? (lease === null ? null : this.#rollouts.judge(lease, groups));
        if (refusal !== null) {
          for (const { payload } of groups) this.#discards.add(commit.shard, payload);
          isRefused = true;
          return refusal;
        }
        const taken = groups.map((group) => {
          latest = { shard: commit.shard, payload: group.payload, rows: group.rows, bytes: group.bytes };
          return this.#queueGroup(commit.shard, group);
        });
        if (lease !== null) this.#rollouts.submitted(lease, taken, Date.now());
        return taken;
      });
      this.#parts.shards.advance(commit, answers, latest);
      return answers;
    });
    if (isRefused) this.#scheduleDiscard();
    this.#wakeAll();
    return verdicts;
  }

  /**
   * The first trainer settles the run; who comes later joins it. One that goes on from a checkpoint of an earlier step takes
   * the environments' states back to it. Returns what of a later one's settings is ignored.
   */
  register(registration: Registration, resumeFrom: number | null = null): { readonly ignored: readonly string[] } {
    const { state, shards, environmentStates } = this.#parts;
    if (state.registration !== null) {
      if (resumeFrom !== null) this.#transaction(() => environmentStates.restore(resumeFrom));
      return { ignored: ignoredSettings(state.registration, registration) };
    }
    this.#transaction(() => {
      state.registration = registration;
      state.step = registration.starting_step;
      state.save(shards.nextAge);
    });
    this.#wakeAll();
    return { ignored: [] };
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
    const found = this.#find(which);
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
    const { state, queue, environments, batches, shards } = this.#parts;
    const now = Date.now();
    const batchSize = state.registration?.batch_size ?? null;
    const connected = environments.connected();
    return {
      ...this.status(),
      explain: explanation({
        batchSize,
        floors: environments.floors(batchSize ?? 0, now),
        interruptedBatches: this.#handOut.interrupted(batches, now).length,
        environments,
        index: queue.index,
        buffered: queue.buffered(),
        now,
      }),
      queuedBytes: queue.bytes,
      receivedGroups: shards.nextAge - 1,
      environments: {
        registered: environments.count,
        connected: connected.length,
        alive: connected.filter((environment) => isAlive(environment, now)).length,
      },
      openBatches: batches.open.size,
      leasedBatches: this.#handOut.leased(batches, now),
      trainer: state.trainer,
      policyVersion: state.policyVersion ?? state.step,
      admission: this.#rollouts.admission(),
      waitingTrainers: this.#waiters.count,
    };
  }

  /** Where the group queued last lies, or null if none ever was. */
  latest(): PayloadAddress | null {
    return this.#parts.shards.latest;
  }

  /** Hands out a batch, waiting for one up to `waitMs`. Whoever waits longest is served first. */
  async takeBatch(waitMs: number, leaseMs = 0): Promise<TakenBatch> {
    const request: BatchRequest = { leaseMs };
    if (this.#waiters.count === 0) for (const { answer } of this.#serve([request])) return answer;
    return waitMs > 0 ? this.#waiters.wait(request, waitMs) : this.#nothing();
  }

  /** The last byte of a batch has left. Reporting it twice is the same as once. */
  delivered(batch: number): void {
    if (this.#handOut.delivered(this.#parts.batches, batch)) this.#scheduleDiscard();
  }

  /** A trainer has learned from a batch: it is never served again. */
  acknowledge(batch: number, step: number | null, metrics: Readonly<Record<string, number>>): BatchChange {
    const { batches, state, shards } = this.#parts;
    if (batch < 1 || batch >= state.nextBatch) return { status: "unknown", last: state.nextBatch - 1 };
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
  release(batch: number): BatchChange {
    const { batches, state } = this.#parts;
    if (batch < 1 || batch >= state.nextBatch) return { status: "unknown", last: state.nextBatch - 1 };
    return { status: "changed", repeated: !this.#handOut.release(batches, batch) };
  }

  /** Forgets trainer, environments, queue and batches. Batch ids and ages go on where they were. */
  reset(): void {
    const { state, shards } = this.#parts;
    this.#transaction(() => {
      for (const { shard, payload, commit } of shards.progress()) this.#discards.addThrough(shard, payload, commit);
      for (const table of FORGOTTEN_AT_RESET) this.#sql.exec(`DELETE FROM ${table}`);
      // The last lease stays, so that ids go on: a group generated before the reset must not pass for one of after it.
      this.#sql.exec("DELETE FROM rollout_lease WHERE id < (SELECT MAX(id) FROM rollout_lease)");
      this.#sql.exec("UPDATE rollout_lease SET outcome = 'cancelled', closed_at = 0 WHERE outcome IS NULL");
      // How far commits have been taken must outlive the reset: one may be sent again after it.
      this.#sql.exec("UPDATE shard SET latest = NULL");
      state.registration = null;
      state.step = 0;
      state.policyVersion = null;
      state.trainer = null;
      state.deficits = new Map();
      state.save(shards.nextAge);
    });
    this.#parts = load(this.#sql, Date.now());
    this.#handOut.forgetAll();
    this.#scheduleDiscard();
  }

  override async alarm(): Promise<void> {
    this.#alarm.wentOff();
    const now = Date.now();
    this.#rollouts.expire(now);
    this.#parts.leases.purge(now);
    this.#waiters.wake();
    const run = nameOf(this.ctx.id);
    const shard = (number: number) => this.env.PAYLOAD_SHARD.getByName(shardName(run, number));
    const more = await this.#discards.round(this.#parts.batches, this.#parts.shards.latest, {
      discard: (number, payloads) => shard(number).discard(payloads),
      discardThrough: (number, payload, commit) => shard(number).discardThrough(payload, commit),
    });
    if (more) this.#scheduleDiscard();
    const { leases, batches } = this.#parts;
    for (const expiry of [leases.nextExpiry(), this.#handOut.nextExpiry(batches, Date.now())])
      if (expiry !== null) this.#alarm.at(expiry);
  }

  /** A request is taken whole or not at all: the verdicts if one of its groups can't be, else null. */
  #refusal(groups: readonly CommittedGroup[]): Verdict[] | null {
    const batchSize = this.#parts.state.registration?.batch_size ?? Number.POSITIVE_INFINITY;
    if (groups.every(({ sequences }) => sequences <= batchSize)) return null;
    return groups.map(({ sequences }) =>
      sequences > batchSize
        ? { status: "larger_than_batch", sequences, batchSize }
        : { status: "refused_with_request" },
    );
  }

  #queueGroup(shard: number, group: CommittedGroup): Verdict {
    const { queue, environments, shards, state } = this.#parts;
    const environment = group.environment === null ? undefined : environments.get(group.environment);
    if (environment !== undefined) environments.heard(environment, Date.now());
    // Nobody makes up the groups of an environment that has gone.
    const groupSize = environment?.connected ? environment.groupSize : undefined;
    return queue.add(keep(group, shard, shards.takeAge(), state.step), groupSize);
  }

  #find({ id, label }: WhichEnvironment): FoundEnvironmentStatus | { status: "environment"; environment: Environment } {
    const { environments } = this.#parts;
    if (id !== null) {
      const environment = environments.get(id);
      if (environment === undefined) return { status: "unknown", id, registered: environments.count };
      return { status: "environment", environment };
    }
    if (label !== null) {
      const environment = environments.labelled(label);
      return environment === undefined ? { status: "unknown_label", label } : { status: "environment", environment };
    }
    const connected = environments.connected();
    const [only] = connected;
    if (connected.length !== 1 || only === undefined) return { status: "ambiguous", connected: connected.length };
    return { status: "environment", environment: only };
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

  /** Lets go of groups that left the queue for no batch. */
  #drop(groups: readonly KeptGroup[], reason: string): void {
    for (const { shard, payload, environment } of groups) {
      this.#discards.add(shard, payload);
      this.#parts.outcomes.add(environment, "dropped", reason);
    }
    this.#scheduleDiscard();
  }

  /** Whether an earlier life left something that the alarm has to do. */
  #isWorkLeft(): boolean {
    if (this.#parts.leases.open.size > 0 || this.#parts.batches.open.size > 0) return true;
    const query =
      "SELECT EXISTS (SELECT 1 FROM discard) OR EXISTS (SELECT 1 FROM discard_through) OR EXISTS (SELECT 1 FROM batch) AS work";
    return this.#sql.exec<{ work: number }>(query).one().work === 1;
  }

  #scheduleDiscard(): void {
    this.#alarm.at(Date.now() + DISCARD_AFTER_MS);
  }
}
