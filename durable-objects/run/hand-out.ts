import type { TakenBatch } from "./answers.ts";
import { assemble, type Order, type QueueIndex } from "./assembler/index.ts";
import type { Batch, Batches } from "./batches.ts";
import { Delivery } from "./delivery.ts";
import type { Environments } from "./environments.ts";
import type { Queue } from "./queue.ts";
import type { Registration } from "./registration.ts";
import type { Shards } from "./shards.ts";
import type { RunState } from "./state.ts";

/** The parts of a run that a batch is made of. */
export interface HandOutParts {
  readonly state: RunState;
  readonly queue: Queue;
  readonly batches: Batches;
  readonly environments: Environments;
  readonly shards: Shards;
}

/**
 * Hands out batches, one at a time to whoever asks. A batch that was handed out and not delivered in full goes first, with
 * the same id, step and order, unless somebody is streaming it right now.
 */
export class HandOut {
  readonly #transaction: <T>(change: () => T) => T;
  readonly #onFree: () => void;
  /** Who streams which batch. Nobody does after a restart. */
  readonly #streaming = new Map<number, Delivery>();
  /** Queue and floors of which no batch can be formed: while they last, an empty poll computes nothing (P7). */
  #barren: {
    readonly index: QueueIndex;
    readonly version: number;
    readonly floors: ReadonlyMap<number, number>;
  } | null = null;

  /** `transaction` changes disk and memory together; `onFree` is called when a batch becomes free to be served again. */
  constructor(transaction: <T>(change: () => T) => T, onFree: () => void) {
    this.#transaction = transaction;
    this.#onFree = onFree;
  }

  /** Returns null if there is nothing to hand out. */
  take(parts: HandOutParts, now: number): TakenBatch | null {
    const { registration } = parts.state;
    if (registration === null) return null;
    const batch = this.interrupted(parts.batches)[0] ?? this.#assemble(parts, registration, now);
    if (batch === null) return null;
    const delivery: Delivery = new Delivery(() => {
      if (this.#streaming.get(batch.id) !== delivery) return;
      this.#streaming.delete(batch.id);
      if (parts.batches.open.has(batch.id)) this.#onFree();
    });
    this.#streaming.set(batch.id, delivery);
    return { status: "batch", batch, delivery };
  }

  /** Batches no longer streamed, or never heard of again: after a reset nothing is left to serve. */
  forgetAll(): void {
    this.#streaming.clear();
    this.#barren = null;
  }

  /** Batches that broke off and wait to be served again, oldest first. */
  interrupted({ open }: Batches): Batch[] {
    return [...open.values()].filter(({ id }) => !this.#streaming.has(id));
  }

  #assemble({ state, queue, batches, environments, shards }: HandOutParts, registration: Registration, now: number) {
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
    return this.#transaction((): Batch => {
      const groups = queue.take(assembled.groups.map(({ age }) => age));
      state.step += 1;
      const batch: Batch = {
        id: state.nextBatch++,
        step: state.step,
        // Groups of one shard together: a reader then fetches neighbouring payloads in one call.
        groups: groups.toSorted((a, b) => a.shard - b.shard || a.payload - b.payload),
      };
      state.deficits = assembled.deficits;
      batches.add(batch);
      state.save(shards.nextAge);
      return batch;
    });
  }
}

function orderOf(registration: Registration, environments: Environments, state: RunState): Order {
  if (registration.mixing === "fifo") return { mixing: "fifo" };
  const weights = new Map([...environments.all()].map(({ id, weight }) => [id, Math.max(0, weight)]));
  return { mixing: "weighted", weights, deficits: state.deficits };
}
