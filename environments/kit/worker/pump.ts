import { ClientError } from "../../../src/client/client.ts";
import type { LeasesAnswer, RolloutLease } from "../../../src/wire/rollouts.ts";
import { chunkMessages } from "./chunks.ts";
import type { Descriptor } from "./descriptor.ts";
import { adviceFor } from "./failure.ts";
import { messageOf } from "./log.ts";
import type { QueueProducer } from "./platform.ts";
import type { Runtime } from "./runtime.ts";

/** The next minute's pump takes over from here. Leases asked for later would come to two pumps at once. */
export const PUMP_SECONDS = 57;

/** Leases asked for at once. */
const COUNT = 50;

/** Longest poll, in seconds. */
const WAIT_SECONDS = 20;

/** Between two questions to a run whose trainer isn't there, and after an error (doubled up to 15 s), in seconds. */
const PAUSE_SECONDS = 2;
const LONGEST_PAUSE_SECONDS = 15;

/**
 * Gets rollout leases and puts them on the queue, until its minute ends or the run has finished. Every long poll tells the
 * run that this environment is alive.
 */
export class Pump {
  readonly #runtime: Runtime;
  readonly #queue: QueueProducer;
  readonly #endsAt: number;
  readonly #told = new Set<string>();
  #faults = 0;

  constructor(runtime: Runtime, queue: QueueProducer) {
    this.#runtime = runtime;
    this.#queue = queue;
    this.#endsAt = runtime.now() + PUMP_SECONDS * 1000;
  }

  async run(): Promise<void> {
    let id = await this.#register();
    while (id !== null && this.#secondsLeft() >= 1) {
      const began = this.#runtime.now();
      const answer = await this.#leases(id);
      if (answer === null) continue;
      if (answer === "forgotten") {
        id = await this.#register();
        continue;
      }
      if (answer.status === "finished") return this.#finish(id, answer);
      if (answer.leases.length > 0) await this.#enqueue(answer.leases);
      else await this.#noLeases(answer, began);
    }
  }

  /** The environment's id; null if the minute ended first. */
  async #register(): Promise<number | null> {
    const { client, name, base: config } = this.#runtime;
    const settings = {
      desired_name: name,
      key: name,
      max_token_length: config.max_token_length,
      group_size: config.group_size,
      weight: config.weight,
      min_batch_allocation: config.floor,
      lease_sequences: config.lease_sequences ?? config.group_size,
      lease_seconds: config.lease_seconds,
      steps_per_eval: config.steps_per_eval,
      evaluation_handling: config.evaluation_handling,
      evaluation_limit: config.evaluation_limit,
    };
    while (this.#secondsLeft() >= 1) {
      const answer = await this.#asking("register", () => client.registerEnvironment(settings));
      if (answer === null) continue;
      if (answer.status === "success") return answer.env_id;
      this.#tell("info", "register", "no_trainer", "waiting for a trainer to register with the run");
      await this.#pause(PAUSE_SECONDS);
    }
    return null;
  }

  /** "forgotten" when the run was reset, which has been told and waited for: the id is nobody's or another's now. */
  async #leases(id: number): Promise<LeasesAnswer | "forgotten" | null> {
    const { client, name: key } = this.#runtime;
    const wait = Math.min(WAIT_SECONDS, Math.floor(this.#secondsLeft()));
    const answer = await this.#asking("leases", () =>
      client.leases(id, { count: COUNT, wait, key }).catch((error: unknown) => {
        if (error instanceof ClientError && error.status === 404) return error;
        throw error;
      }),
    );
    if (!(answer instanceof ClientError)) return answer;
    this.#tell("info", "leases", "forgotten", answer.message);
    await this.#pause(PAUSE_SECONDS);
    return "forgotten";
  }

  async #noLeases({ reason, message }: LeasesAnswer, began: number): Promise<void> {
    this.#tell("info", "no leases", reason ?? "none", message);
    // A long poll that comes back at once must not become a storm.
    if (this.#runtime.now() - began < 1000) await this.#pause(1);
  }

  /** Null after an error, which has been told and waited for. */
  async #asking<T>(what: string, ask: () => Promise<T>): Promise<T | null> {
    try {
      const answer = await ask();
      this.#faults = 0;
      return answer;
    } catch (error) {
      const reason = error instanceof ClientError ? `status_${error.status}` : "internal";
      this.#tell("error", what, reason, `${messageOf(error)} (${adviceFor(error)})`);
      await this.#pause(pauseSeconds(this.#faults++));
      return null;
    }
  }

  async #enqueue(leases: readonly RolloutLease[]): Promise<void> {
    const bodies = leases.map((lease): Descriptor => ({ run: this.#runtime.run, lease }));
    for (const { messages, tooLarge } of chunkMessages(bodies)) {
      if (tooLarge) await this.#refuse(messages);
      else await this.#send(messages);
    }
  }

  /**
   * Puts messages on the queue, trying until the minute ends. Leases that don't get there are left open: they expire, and their
   * items are leased again. Closed as failed, they would be lost.
   */
  async #send(messages: readonly Descriptor[]): Promise<void> {
    for (let faults = 0; ; faults++) {
      try {
        await this.#queue.sendBatch(messages.map((body) => ({ body, contentType: "json" })));
        return;
      } catch (error) {
        const message = messageOf(error);
        this.#tell("error", "enqueue", "queue_unavailable", message);
        await this.#pause(pauseSeconds(faults));
        if (this.#secondsLeft() >= 1) continue;
        this.#runtime.log("error", "leases left", { reason: "queue_unavailable", leases: messages.length, message });
        return;
      }
    }
  }

  /** Closes leases whose items no message can hold: the next attempt could not either. */
  async #refuse(messages: readonly Descriptor[]): Promise<void> {
    const { client, log } = this.#runtime;
    const reason = "item_too_large";
    const message = "the item doesn't fit into a message of 128 KB";
    for (const { lease } of messages) {
      await client.close(lease.lease_id, { outcome: "failed", reason, message }).catch((error: unknown) => {
        log("error", "close", { lease: lease.lease_id, reason, message: messageOf(error) });
      });
    }
  }

  async #finish(id: number, { reason, message }: LeasesAnswer): Promise<void> {
    const { client } = this.#runtime;
    this.#tell("info", "finished", reason ?? "num_steps", message);
    await this.#asking("disconnect", () => client.disconnectEnvironment(id));
  }

  /** Says a thing once a minute for each cause. */
  #tell(level: "info" | "error", event: string, reason: string, message: string): void {
    const cause = `${event} ${reason}`;
    if (this.#told.has(cause)) return;
    this.#told.add(cause);
    this.#runtime.log(level, event, { reason, message });
  }

  #pause(seconds: number): Promise<void> {
    return this.#runtime.sleep(Math.max(0, Math.min(seconds, this.#secondsLeft())) * 1000);
  }

  #secondsLeft(): number {
    return (this.#endsAt - this.#runtime.now()) / 1000;
  }
}

/** Before the next try, after so many faults in a row before this one. */
function pauseSeconds(faults: number): number {
  return Math.min(LONGEST_PAUSE_SECONDS, PAUSE_SECONDS * 2 ** faults);
}
