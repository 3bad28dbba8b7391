import type { z } from "zod";
import type { RolloutLease } from "../../../src/wire/rollouts.ts";
import type { Environment } from "../define.ts";
import type { Outcome } from "../definition.ts";
import { type Purpose, RequestLimiter, UnderWay } from "../inference/index.ts";
import type { ConfigOf } from "../read-config.ts";
import type { Rollout } from "../trajectory/index.ts";
import { laterDelaySeconds, MAX_ATTEMPTS, retryDelaySeconds } from "./attempts.ts";
import { Deadline } from "./deadline.ts";
import { descriptor } from "./descriptor.ts";
import { evaluate } from "./evaluate.ts";
import { during, type Failure, failureAt } from "./failure.ts";
import { type RunContext, runGroup } from "./group.ts";
import { LeaseDesk } from "./lease-desk.ts";
import { openPolicy } from "./open-policy.ts";
import type { QueuedMessage } from "./platform.ts";
import type { Runtime } from "./runtime.ts";
import { StateStore } from "./state.ts";

/** An invocation has 15 minutes. Nothing is begun in the last two, and everything has ended when half a minute is left. */
const BEGINS_WITHIN_MS = 13 * 60_000;
const ENDS_WITHIN_MS = 14.5 * 60_000;

/** Of a lease, kept for handing in what was generated under it. */
const LEASE_MARGIN_MS = 10_000;

/** What is still to do once all messages are through. */
interface Finished<Item, R> {
  readonly message: QueuedMessage;
  readonly envId: number;
  readonly outcome: Outcome<Item, R>;
}

/** One invocation of a queue's consumer: works on its messages at once, and settles each of them by itself. */
export class Consumer<Own extends z.ZodRawShape, Item, State, R extends Rollout> {
  readonly #runtime: Runtime;
  readonly #environment: Environment<Own, Item, State, R>;
  readonly #config: ConfigOf<Own>;
  readonly #desk: LeaseDesk;
  readonly #limiter = new RequestLimiter();
  readonly #began: number;
  readonly #invocation = new AbortController();
  readonly #states = new Map<number, StateStore<State>>();
  readonly #finished: Finished<Item, R>[] = [];
  #longest: Promise<number> | undefined;

  constructor(runtime: Runtime, environment: Environment<Own, Item, State, R>, config: ConfigOf<Own>) {
    this.#runtime = runtime;
    this.#environment = environment;
    this.#config = config;
    this.#desk = new LeaseDesk(runtime);
    this.#began = runtime.now();
  }

  /** Settles every message: acknowledged, or to be delivered again. Never throws. */
  async consume(messages: readonly QueuedMessage[]): Promise<void> {
    const waiting = [...messages];
    const work = async () => {
      for (let message = waiting.shift(); message !== undefined; message = waiting.shift()) await this.#handle(message);
    };
    await Promise.all(Array.from({ length: this.#runtime.base.concurrency }, work));
    await this.#foldStates();
    for (const { message } of this.#finished) message.ack();
    this.#invocation.abort();
  }

  async #handle(message: QueuedMessage): Promise<void> {
    const body = descriptor.safeParse(message.body);
    const { log, run, now } = this.#runtime;
    if (!body.success) {
      const [issue] = body.error.issues;
      log("error", "message", { reason: "malformed", message: `${issue?.path.join(".")}: ${issue?.message}` });
      return message.ack();
    }
    const { lease } = body.data;
    if (body.data.run !== run) {
      log("warn", "message", { lease: lease.lease_id, reason: "other_run", message: `it is of run ${body.data.run}` });
      return message.ack();
    }
    try {
      if (now() - this.#began >= BEGINS_WITHIN_MS) {
        // At once, in an invocation that has time: the lease is not renewed meanwhile.
        if (message.attempts < MAX_ATTEMPTS) return message.retry();
        const why = "the invocation had no time left to begin with it";
        log("warn", "lease left", { lease: lease.lease_id, reason: "timeout", message: why });
        return message.ack();
      }
      const current = await this.#desk.current(lease, message.attempts);
      if (current === "over" || current === "left") return message.ack();
      if (current.kind === "evaluate") await this.#evaluate(current, message);
      else await this.#generate(current, message);
    } catch (error) {
      await this.#settleFailure(message, lease, failureAt("internal", error));
    }
  }

  async #generate(lease: RolloutLease, message: QueuedMessage): Promise<void> {
    const seconds = Math.min(this.#runtime.base.rollout_timeout_seconds, this.#secondsFor(lease));
    const result = await this.#within(seconds, lease, "training", (run) => runGroup(run, lease));
    const { groups, reason, dropped } = result;
    const earlier = message.attempts > 1 && this.#environment.definition.item !== undefined;
    const ended = await this.#desk.end(lease, result, earlier);
    const log = { lease: lease.lease_id, item: lease.item, ...(reason === null ? {} : { reason }) };
    if (!ended) return message.ack();
    this.#runtime.log("info", reason === null ? "submitted" : "skipped", {
      ...log,
      groups: groups.length,
      dropped: dropped.length,
    });
    this.#finished.push({ message, envId: lease.env_id, outcome: result.outcome });
  }

  async #evaluate(lease: RolloutLease, message: QueuedMessage): Promise<void> {
    const metrics = await this.#within(this.#secondsFor(lease), lease, "evaluation", (run) =>
      evaluate(run, lease.seed),
    );
    await this.#desk.endEvaluation(lease, metrics);
    this.#runtime.log("info", "evaluated", { lease: lease.lease_id, step: lease.step });
    message.ack();
  }

  /** Runs work under a lease within a time. @throws Failure */
  async #within<T>(
    seconds: number,
    lease: RolloutLease,
    purpose: Purpose,
    work: (run: RunContext<Own, Item, State, R>) => Promise<T>,
  ): Promise<T> {
    const { base, bindings, fetch } = this.#runtime;
    const underWay = new UnderWay();
    const deadline = new Deadline(seconds, () => underWay.count > 0);
    const { signal } = deadline;
    const all = async () => {
      const [state, longest] = await Promise.all([
        during("state", () => this.#state(lease.env_id).read()),
        this.#longestSequence(),
      ]);
      const policy = await during("rollout", () =>
        openPolicy(lease.endpoint, {
          base,
          purpose,
          secretOf: bindings.endpointSecret,
          fetch,
          underWay,
          limiter: this.#limiter,
          signal,
          env: bindings.forEnvironment,
          invocation: this.#invocation.signal,
        }),
      );
      return work({
        environment: this.#environment,
        config: this.#config,
        base: { ...base, max_token_length: longest },
        state,
        env: bindings.forEnvironment,
        policy,
        signal,
        invocation: this.#invocation.signal,
      });
    };
    return deadline.limit(all());
  }

  /** Counts the failure, and sees to another attempt if there is one left. */
  async #settleFailure(message: QueuedMessage, lease: RolloutLease, failure: Failure): Promise<void> {
    const { lease_id, item } = lease;
    const { reason, message: text } = failure;
    this.#runtime.log("error", "failed", { lease: lease_id, item, reason, message: text, attempt: message.attempts });
    const fate = await this.#desk.fail(lease_id, message.attempts, failure);
    if (fate === "over") message.ack();
    // Without attempts left the platform moves it to the dead-letter queue.
    else if (fate === "dead") message.retry();
    else if (fate === "later") message.retry({ delaySeconds: laterDelaySeconds(this.#runtime.random()) });
    else message.retry({ delaySeconds: retryDelaySeconds(message.attempts, this.#runtime.random()) });
  }

  async #foldStates(): Promise<void> {
    const { state: definition, stateful } = this.#environment;
    if (!stateful) return;
    for (const [envId, store] of this.#states) {
      const outcomes = this.#finished.filter((one) => one.envId === envId).map(({ outcome }) => outcome);
      if (outcomes.length === 0) continue;
      try {
        await store.fold((state) =>
          outcomes.reduce((folded, outcome) => definition.reduce(folded, outcome, this.#config), state),
        );
      } catch (error) {
        // The groups are handed in: generating them again could not bring their outcomes back.
        const { reason, message } = failureAt("state", error);
        this.#runtime.log("error", "state", { reason, message, outcomes: outcomes.length });
      }
    }
  }

  #state(envId: number): Pick<StateStore<State>, "read"> {
    const { state: definition, stateful } = this.#environment;
    const initial = definition.initial(this.#config);
    if (!stateful) return { read: async () => initial };
    const codec = { schema: definition.schema, initial };
    const { client, sleep, random } = this.#runtime;
    const store = this.#states.get(envId) ?? new StateStore({ client, environment: envId, codec, sleep, random });
    this.#states.set(envId, store);
    return store;
  }

  /** Tokens that a sequence must stay below: of the environment's limit and the trainer's, the smaller one. */
  #longestSequence(): Promise<number> {
    const { client, base } = this.#runtime;
    this.#longest ??= during("internal", async () => {
      const { max_token_len } = await client.info();
      // -1: no trainer has registered since the run was reset.
      return max_token_len < 0 ? base.max_token_length : Math.min(base.max_token_length, max_token_len);
    });
    return this.#longest;
  }

  /** Seconds that work under a lease may take before the lease or the invocation ends. */
  #secondsFor({ expires_at }: RolloutLease): number {
    const now = this.#runtime.now();
    return Math.min(expires_at - LEASE_MARGIN_MS - now, this.#began + ENDS_WITHIN_MS - now) / 1000;
  }
}
