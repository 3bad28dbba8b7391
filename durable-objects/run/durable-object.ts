import { DurableObject } from "cloudflare:workers";
import { migrate } from "../migrations.ts";
import { nameOf, shardName } from "../names.ts";
import type { Commit, CommittedGroup, PayloadAddress, Verdict } from "../payloads.ts";
import type {
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
import { HandOut } from "./hand-out.ts";
import { keep, Queue } from "./queue.ts";
import { ignoredSettings, type Registration } from "./registration.ts";
import { migrations } from "./schema.ts";
import { Shards } from "./shards.ts";
import { RunState } from "./state.ts";
import { Waiters } from "./waiters.ts";

/** How soon payloads that nobody needs any more are let go. */
const DISCARD_AFTER_MS = 1_000;

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
  };
}

/** One run: the queue of its groups, the batches made of them, its environments. Holds metadata alone. */
export class Run extends DurableObject<Env> {
  readonly #sql: SqlStorage;
  readonly #discards: Discards;
  readonly #handOut: HandOut;
  readonly #waiters: Waiters<TakenBatch>;
  #parts: ReturnType<typeof load>;
  #discardIsSet = false;

  constructor(ctx: DurableObjectState, env: Env) {
    super(ctx, env);
    migrate(ctx.storage, migrations);
    this.#sql = ctx.storage.sql;
    this.#parts = load(this.#sql, Date.now());
    this.#discards = new Discards(this.#sql);
    this.#waiters = new Waiters(
      () => this.#handOut.take(this.#parts, Date.now()),
      () => this.#nothing(),
    );
    this.#handOut = new HandOut(
      (change) => this.#transaction(change),
      () => this.#waiters.wake(),
    );
  }

  /** Queues the groups of a shard's commit. A commit taken before changes nothing and gets the same verdicts. */
  commit(commit: Commit): readonly (readonly Verdict[])[] {
    const taken = this.#parts.shards.verdictsIfTaken(commit);
    if (taken !== null) return taken;
    const verdicts = this.#transaction(() => {
      let latest: PayloadAddress | null = null;
      const answers = commit.requests.map((groups) => {
        const refusal = this.#refusal(groups);
        if (refusal !== null) {
          for (const { payload } of groups) this.#discards.add(commit.shard, payload);
          return refusal;
        }
        return groups.map((group) => {
          latest = { shard: commit.shard, payload: group.payload, rows: group.rows, bytes: group.bytes };
          return this.#queueGroup(commit.shard, group);
        });
      });
      this.#parts.shards.advance(commit, answers, latest);
      return answers;
    });
    if (verdicts.flat().some(({ status }) => status === "larger_than_batch")) this.#scheduleDiscard();
    this.#waiters.wake();
    return verdicts;
  }

  /** The first trainer settles the run; who comes later joins it. Returns what of a later one's settings is ignored. */
  register(registration: Registration): { readonly ignored: readonly string[] } {
    const { state, shards } = this.#parts;
    if (state.registration !== null) return { ignored: ignoredSettings(state.registration, registration) };
    this.#transaction(() => {
      state.registration = registration;
      state.step = registration.starting_step;
      state.save(shards.nextAge);
    });
    this.#waiters.wake();
    return { ignored: [] };
  }

  /** Null until a trainer has registered. */
  registration(): Registration | null {
    return this.#parts.state.registration;
  }

  registerEnvironment(environment: NewEnvironment): RegisteredEnvironment {
    const { state, environments } = this.#parts;
    if (state.registration === null) return { status: "no_trainer" };
    if (environments.count >= MAX_ENVIRONMENTS) return { status: "too_many", limit: MAX_ENVIRONMENTS };
    const { id, wandbName } = environments.register(environment, Date.now());
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
    this.#waiters.wake();
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
        interruptedBatches: this.#handOut.interrupted(batches).length,
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
      waitingTrainers: this.#waiters.count,
    };
  }

  /** Where the group queued last lies, or null if none ever was. */
  latest(): PayloadAddress | null {
    return this.#parts.shards.latest;
  }

  /** Hands out a batch, waiting for one up to `waitMs`. Whoever waits longest is served first. */
  async takeBatch(waitMs: number): Promise<TakenBatch> {
    const taken = this.#waiters.count === 0 ? this.#handOut.take(this.#parts, Date.now()) : null;
    if (taken !== null) return taken;
    return waitMs > 0 ? this.#waiters.wait(waitMs) : this.#nothing();
  }

  /** The last byte of a batch has left. Reporting it twice is the same as once. */
  delivered(batch: number): void {
    if (this.#parts.batches.delivered(batch)) this.#scheduleDiscard();
  }

  /** Forgets trainer, environments, queue and batches. Batch ids and ages go on where they were. */
  reset(): void {
    const { state, shards } = this.#parts;
    this.#transaction(() => {
      for (const { shard, payload, commit } of shards.progress()) this.#discards.addThrough(shard, payload, commit);
      for (const table of ["environment", "queued_group", "batch", "batch_part", "discard"])
        this.#sql.exec(`DELETE FROM ${table}`);
      // How far commits have been taken must outlive the reset: one may be sent again after it.
      this.#sql.exec("UPDATE shard SET latest = NULL");
      state.registration = null;
      state.step = 0;
      state.deficits = new Map();
      state.save(shards.nextAge);
    });
    this.#parts = load(this.#sql, Date.now());
    this.#handOut.forgetAll();
    this.#scheduleDiscard();
  }

  override async alarm(): Promise<void> {
    this.#discardIsSet = false;
    const run = nameOf(this.ctx.id);
    const shard = (number: number) => this.env.PAYLOAD_SHARD.getByName(shardName(run, number));
    const more = await this.#discards.round(this.#parts.batches, this.#parts.shards.latest, {
      discard: (number, payloads) => shard(number).discard(payloads),
      discardThrough: (number, payload, commit) => shard(number).discardThrough(payload, commit),
    });
    if (more) this.#scheduleDiscard();
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

  #scheduleDiscard(): void {
    if (this.#discardIsSet) return;
    this.#discardIsSet = true;
    void this.ctx.storage.setAlarm(Date.now() + DISCARD_AFTER_MS);
  }
}
