import type { TakenBatch } from "./answers.ts";
import { assemble, type Order, type QueueIndex } from "./assembler/index.ts";
import type { Batch, Batches } from "./batches.ts";
import { Delivery } from "./delivery.ts";
import type { Environments } from "./environments.ts";
import type { KeptGroup, Queue } from "./queue.ts";
import type { Registration } from "./registration.ts";
import type { EnvironmentStates } from "./rollouts/environment-states.ts";
import type { Shards } from "./shards.ts";
import type { RunState } from "./state.ts";

/** The parts of a run that a batch is made of. */
export interface HandOutParts {
  readonly state: RunState;
  readonly queue: Queue;
  readonly batches: Batches;
  readonly environments: Environments;
  readonly environmentStates: EnvironmentStates;
  readonly shards: Shards;
}

/** What handing out needs of the Run. */
export interface HandOutHost {
  /** Changes disk and memory together. */
  transaction<T>(change: () => T): T;
  /** A batch became free to be served again. */
  freed(): void;
  /** Lets go of groups that were taken out of the queue, and counts why. Called within a transaction. */
  drop(groups: readonly KeptGroup[], reason: string): void;
  /** Makes sure that the Run looks after its batches at this time, in Unix milliseconds. */
  wakeAt(time: number): void;
}

/** A trainer's request for a batch. */
export interface BatchRequest {
  /** How long it wants to hold the batch before it acknowledges it; 0 for a batch that counts when its last byte has left. */
  readonly leaseMs: number;
}

/**
 * Hands out batches, one at a time to whoever asks. A batch that was handed out and not delivered in full, or whose lease
 * ended without an ack, goes first, with the same id, step and order, unless somebody is streaming it right now.
 */
export class HandOut {
  readonly #host: HandOutHost;
  /** Who streams which batch. Nobody does after a restart. */
  readonly #streaming = new Map<number, Delivery>();
  /** Leased batches whose last byte has left. */
  readonly #arrived = new Set<number>();
  /** Queue and floors of which no batch can be formed: while they last, an empty poll computes nothing (P7). */
  #barren: {
    readonly index: QueueIndex;
    readonly version: number;
    readonly floors: ReadonlyMap<number, number>;
  } | null = null;

  constructor(host: HandOutHost) {
    this.#host = host;
  }

  /** Returns null if there is nothing to hand out. */
  take(parts: HandOutParts, { leaseMs }: BatchRequest, now: number): TakenBatch | null {
    const { registration } = parts.state;
    if (registration === null) return null;
    const leaseUntil = leaseMs > 0 ? now + leaseMs : 0;
    const [interrupted] = this.interrupted(parts.batches, now);
    const batch =
      interrupted === undefined
        ? this.#assemble(parts, registration, leaseUntil, now)
        : parts.batches.lease(interrupted, leaseUntil);
    if (batch === null) return null;
    this.#arrived.delete(batch.id);
    const delivery: Delivery = new Delivery(() => {
      if (this.#streaming.get(batch.id) !== delivery) return;
      this.#streaming.delete(batch.id);
      this.#streamEnded(parts.batches, batch.id);
    });
    this.#streaming.set(batch.id, delivery);
    if (leaseUntil > 0) this.#host.wakeAt(leaseUntil);
    return { status: "batch", batch, delivery };
  }

  /** The last byte of a batch has left. Returns whether its payloads may be let go: those of a leased one not before the ack. */
  delivered(batches: Batches, id: number): boolean {
    const batch = batches.open.get(id);
    if (batch === undefined) return false;
    if (batch.leaseUntil === 0) return batches.delivered(id);
    this.#arrived.add(id);
    return false;
  }

  /** The trainer has learned from a batch. Returns false if that was known before. */
  acknowledge(batches: Batches, id: number): boolean {
    this.#arrived.delete(id);
    return batches.delivered(id);
  }

  /** The trainer gives a batch back. Returns false if nobody held it. */
  release(batches: Batches, id: number): boolean {
    const batch = batches.open.get(id);
    if (batch === undefined || (batch.leaseUntil === 0 && !this.#streaming.has(id))) return false;
    this.#arrived.delete(id);
    this.#streaming.delete(id);
    batches.lease(batch, 0);
    this.#host.freed();
    return true;
  }

  /** Batches no longer streamed, or never heard of again: after a reset nothing is left to serve. */
  forgetAll(): void {
    this.#streaming.clear();
    this.#arrived.clear();
    this.#barren = null;
  }

  /** Batches that wait to be served again, oldest first: they broke off, or their lease is over. */
  interrupted({ open }: Batches, now: number): Batch[] {
    return [...open.values()].filter(({ id, leaseUntil }) => leaseUntil <= now && !this.#streaming.has(id));
  }

  /** Batches that trainers hold. */
  leased({ open }: Batches, now: number): number {
    return [...open.values()].filter(({ leaseUntil }) => leaseUntil > now).length;
  }

  /** When the next lease ends, in Unix milliseconds; null if there is none. */
  nextExpiry({ open }: Batches, now: number): number | null {
    const ends = [...open.values()].map(({ leaseUntil }) => leaseUntil).filter((until) => until > now);
    return ends.length === 0 ? null : Math.min(...ends);
  }

  #streamEnded(batches: Batches, id: number): void {
    const batch = batches.open.get(id);
    if (batch === undefined || this.#arrived.has(id)) return;
    // Its trainer hasn't got it: to wait for the lease to end would help nobody.
    batches.lease(batch, 0);
    this.#host.freed();
  }

  #assemble(parts: HandOutParts, registration: Registration, leaseUntil: number, now: number): Batch | null {
    const { state, queue, batches, environments, environmentStates, shards } = parts;
    this.#dropStale(parts, registration);
    const floors = environments.floors(registration.batch_size, now);
    const { index } = queue;
    const { version } = index;
    if (this.#barren?.index === index && this.#barren.version === version && this.#barren.floors === floors)
      return null;
    const assembled = assemble(index, {
      batchSize: registration.batch_size,
      floors,
      order: orderOf(registration, environments, state),
    });
    if (assembled === null) {
      this.#barren = { index, version, floors };
      return null;
    }
    return this.#host.transaction((): Batch => {
      const groups = queue.take(assembled.groups.map(({ age }) => age));
      state.step += 1;
      const batch: Batch = {
        id: state.nextBatch++,
        step: state.step,
        // Groups of one shard together: a reader then fetches neighbouring payloads in one call.
        groups: groups.toSorted((a, b) => a.shard - b.shard || a.payload - b.payload),
        leaseUntil,
      };
      state.deficits = assembled.deficits;
      batches.add(batch);
      state.save(shards.nextAge);
      const interval = registration.save_checkpoint_interval;
      if (interval > 0 && state.step % interval === 0) environmentStates.checkpoint(state.step);
      return batch;
    });
  }

  /** Staleness is the current step less the policy version; the batch that is about to be formed makes the next step. */
  #dropStale({ state, queue }: HandOutParts, { max_staleness }: Registration): void {
    if (max_staleness === null) return;
    const stale = queue.olderThan(state.step - max_staleness);
    if (stale.length === 0) return;
    this.#host.transaction(() => this.#host.drop(queue.take(stale), "stale"));
  }
}

function orderOf(registration: Registration, environments: Environments, state: RunState): Order {
  if (registration.mixing === "fifo") return { mixing: "fifo" };
  const weights = new Map([...environments.all()].map(({ id, weight }) => [id, Math.max(0, weight)]));
  return { mixing: "weighted", weights, deficits: state.deficits };
}
