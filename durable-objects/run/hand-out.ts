import type { HoldRefusal, TakenBatch } from "./answers.ts";
import { assemble, type Order, type QueueIndex } from "./assembler/index.ts";
import type { Batch, Batches, Hold } from "./batches.ts";
import { Delivery } from "./delivery.ts";
import type { Environments } from "./environments.ts";
import type { HandOutRecord } from "./hand-out-record.ts";
import type { KeptGroup, Queue } from "./queue.ts";
import type { Registration } from "./registration.ts";
import type { EnvironmentStates } from "./rollouts/environment-states.ts";
import type { Shards } from "./shards.ts";
import { sliceOf } from "./slices.ts";
import type { RunState } from "./state.ts";

/** The parts of a run that a batch is made of. */
export interface HandOutParts {
  readonly state: RunState;
  readonly queue: Queue;
  readonly batches: Batches;
  readonly environments: Environments;
  readonly environmentStates: EnvironmentStates;
  readonly handOutRecord: HandOutRecord;
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
  /** A new batch was formed, for this request. */
  formed(batch: Batch, request: BatchRequest, now: number): void;
  /** A batch is served again. `before` is what it was when nobody held it any more. */
  again(before: Batch, request: BatchRequest): void;
  /** Groups have left the queue, so there may be room for others. */
  roomCame(): void;
  /** Makes sure that the Run looks after its batches at this time, in Unix milliseconds. */
  wakeAt(time: number): void;
}

/** Who says that a batch is done with. */
export interface Holder {
  /** As the trainer calls itself, or null. */
  readonly trainer: string | null;
  /** The hold that it was told of with the batch, or null. */
  readonly hold: number | null;
}

/** A trainer's request for a batch. */
export interface BatchRequest {
  /** How long it wants to hold the batch before it acknowledges it; 0 for a batch that counts when its last byte has left. */
  readonly leaseMs: number;
  /** As the trainer calls itself, or null. */
  readonly trainer: string | null;
  /** When it came, in Unix milliseconds. */
  readonly askedAt: number;
  /** Which slice of the batch is wanted, of how many; null for all of it. */
  readonly slice: { readonly rank: number; readonly worldSize: number } | null;
}

/**
 * Hands out batches, one at a time to whoever asks. A batch that was handed out and not delivered in full, or whose lease
 * ended without an ack, goes first, with the same id, step and order, unless somebody is streaming it right now.
 */
export class HandOut {
  readonly #host: HandOutHost;
  /** Who streams which batch, or slices of it. Nobody does after a restart. */
  readonly #streaming = new Map<number, Set<Delivery>>();
  /** Leased batches whose last byte has left, with the ranks whose slice it was (null: the whole). */
  readonly #arrived = new Map<number, Set<number | null>>();
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
  take(parts: HandOutParts, request: BatchRequest, now: number): TakenBatch | null {
    const { registration } = parts.state;
    if (registration === null) return null;
    const batch = this.#shared(parts.batches, request, now) ?? this.#whole(parts, registration, request, now);
    if (batch === null) return null;
    const rank = request.slice?.rank ?? null;
    this.#arrived.get(batch.id)?.delete(rank);
    const delivery: Delivery = new Delivery(() => this.#streamEnded(parts.batches, batch, rank, delivery));
    const streams = this.#streaming.get(batch.id) ?? new Set();
    this.#streaming.set(batch.id, streams.add(delivery));
    if (batch.leaseUntil > 0) this.#host.wakeAt(batch.leaseUntil);
    const groups = rank === null ? batch.groups : sliceOf(batch.groups, rank, batch.worldSize);
    return { status: "batch", batch: { ...batch, groups }, delivery };
  }

  /**
   * The last byte of a batch, or of a slice, has left. Returns whether its payloads may be let go: those of a leased one not
   * before the ack. The report comes late, so it says which hold it is about: the trainer may have given the batch back
   * meanwhile, and then it has to be served again.
   */
  delivered(batches: Batches, id: number, epoch: number, rank: number | null): boolean {
    const batch = batches.open.get(id);
    if (batch === undefined || batch.epoch !== epoch) return false;
    if (batch.leaseUntil === 0) return batches.delivered(id, Date.now());
    this.#arrived.set(id, (this.#arrived.get(id) ?? new Set()).add(rank));
    return false;
  }

  /** The trainer has learned from a batch. Returns false if that was known before. */
  acknowledge(batches: Batches, id: number): boolean {
    this.#arrived.delete(id);
    return batches.delivered(id, Date.now());
  }

  /**
   * Why somebody may not acknowledge a batch or give it back, or null. Whoever says which hold it means may as long as nobody
   * has got the batch since; who doesn't may unless somebody else holds it, or a rewind has opened it.
   */
  refusal({ open }: Batches, id: number, { trainer, hold }: Holder, now: number): HoldRefusal | null {
    const batch = open.get(id);
    if (batch === undefined) return null;
    const isHeld = batch.leaseUntil > now;
    if (hold !== null) {
      // A hold that ended by itself, as its stream broke, left the batch free; its last byte may have arrived all the same.
      const isFree = batch.leaseUntil === 0 && !batch.rewound && !this.#streaming.has(id) && hold !== batch.givenBack;
      if (hold === batch.epoch || (isFree && hold === batch.epoch - 1)) return null;
      return batch.rewound ? { status: "rewound" } : { status: "held", holder: isHeld ? batch.trainer : null };
    }
    if (batch.rewound) return { status: "rewound" };
    return isHeld && batch.trainer !== null && batch.trainer !== trainer
      ? { status: "held", holder: batch.trainer }
      : null;
  }

  /** Whether a batch was given back with this very hold. */
  isGivenBack({ open }: Batches, id: number, { hold }: Holder): boolean {
    return hold !== null && open.get(id)?.givenBack === hold;
  }

  /** Whether another rank of the trainer has its slice of a batch, and this one is to get its own. */
  isDue(batches: Batches, request: BatchRequest, now: number): boolean {
    return sharedWith(batches, request, now) !== null;
  }

  /** The trainer gives a batch back. Returns false if nobody held it. */
  release(batches: Batches, id: number): boolean {
    const batch = batches.open.get(id);
    if (batch === undefined || batch.rewound || (batch.leaseUntil === 0 && !this.#streaming.has(id))) return false;
    this.#arrived.delete(id);
    this.#streaming.delete(id);
    batches.leave(batch, Date.now(), true);
    this.#host.freed();
    return true;
  }

  /** A reset: nothing of before counts. */
  forgetAll(): void {
    this.#streaming.clear();
    this.#arrived.clear();
    this.#barren = null;
  }

  /** These batches are opened again: who still reads them doesn't count. */
  forget(ids: Iterable<number>): void {
    for (const id of ids) {
      this.#streaming.delete(id);
      this.#arrived.delete(id);
    }
  }

  /**
   * Batches that wait to be served again, oldest first: they broke off, or their lease is over, even if its trainer is still
   * reading.
   */
  interrupted({ open }: Batches, now: number): Batch[] {
    return [...open.values()].filter(
      ({ id, leaseUntil }) => leaseUntil <= now && (leaseUntil > 0 || !this.#streaming.has(id)),
    );
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

  /** Gives a rank the batch of which others have taken their slices; or null. */
  #shared(batches: Batches, request: BatchRequest, now: number): Batch | null {
    const batch = sharedWith(batches, request, now);
    if (batch === null || request.slice === null) return null;
    const leaseUntil = Math.max(batch.leaseUntil, now + request.leaseMs);
    return batches.extend(batch, { leaseUntil, ranks: [...batch.ranks, request.slice.rank] });
  }

  /** The first batch that waits to be served again, else a new one; or null. */
  #whole(parts: HandOutParts, registration: Registration, request: BatchRequest, now: number): Batch | null {
    const { leaseMs, trainer, slice } = request;
    const hold: Hold = {
      leaseUntil: leaseMs > 0 ? now + leaseMs : 0,
      trainer,
      worldSize: slice?.worldSize ?? 1,
      ranks: slice === null ? [] : [slice.rank],
    };
    const [interrupted] = this.interrupted(parts.batches, now);
    if (interrupted !== undefined) {
      this.#arrived.delete(interrupted.id);
      this.#host.again(interrupted, request);
      if (interrupted.rewound) checkpoint(parts, registration, interrupted.step);
      // A plain batch that broke off goes to another plain request as it is: nobody can still report on its broken stream.
      const wasPlain = interrupted.leaseUntil === 0 && interrupted.leftAt === null;
      const isPlain = wasPlain && hold.leaseUntil === 0 && interrupted.trainer === trainer;
      return isPlain ? interrupted : parts.batches.hold(interrupted, hold);
    }
    const batch = this.#assemble(parts, registration, hold, now);
    if (batch !== null) {
      this.#host.formed(batch, request, now);
      this.#host.roomCame();
    }
    return batch;
  }

  #streamEnded(batches: Batches, { id, epoch }: Batch, rank: number | null, delivery: Delivery): void {
    const streams = this.#streaming.get(id);
    if (streams?.delete(delivery) !== true) return;
    if (streams.size === 0) this.#streaming.delete(id);
    const batch = batches.open.get(id);
    if (batch === undefined || batch.epoch !== epoch) return;
    // Its trainer hasn't got it: to wait for the lease to end would help nobody.
    if (this.#arrived.get(id)?.has(rank) === true) return;
    const ranks = batch.ranks.filter((other) => other !== rank);
    if (ranks.length > 0) batches.extend(batch, { ranks });
    else if (batch.leaseUntil > 0) batches.leave(batch, Date.now(), false);
    this.#host.freed();
  }

  #assemble(parts: HandOutParts, registration: Registration, hold: Hold, now: number): Batch | null {
    const { state, queue, batches, environments, handOutRecord, shards } = parts;
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
      handOutRecord.add(groups, state.step);
      state.step += 1;
      const batch: Batch = {
        ...hold,
        id: state.nextBatch++,
        step: state.step,
        // Groups of one shard together: a reader then fetches neighbouring payloads in one call.
        groups: groups.toSorted((a, b) => a.shard - b.shard || a.payload - b.payload),
        epoch: 0,
        rewound: false,
        leftAt: null,
        givenBack: null,
      };
      state.deficits = assembled.deficits;
      batches.add(batch);
      state.save(shards.nextAge);
      checkpoint(parts, registration, state.step);
      return batch;
    });
  }

  /** Staleness is the current step less the policy version; the batch that is about to be formed makes the next step. */
  #dropStale({ state, queue }: HandOutParts, { max_staleness }: Registration): void {
    if (max_staleness === null) return;
    const stale = queue.olderThan(state.step - max_staleness);
    if (stale.length === 0) return;
    this.#host.transaction(() => this.#host.drop(queue.take(stale), "stale"));
    this.#host.roomCame();
  }
}

/** The batch of which another rank of the trainer has taken its slice, and this rank hasn't; or null. */
function sharedWith({ open }: Batches, { trainer, slice }: BatchRequest, now: number): Batch | null {
  if (slice === null) return null;
  for (const batch of open.values()) {
    if (batch.leaseUntil <= now || batch.trainer !== trainer || batch.worldSize !== slice.worldSize) continue;
    if (batch.ranks.length > 0 && !batch.ranks.includes(slice.rank)) return batch;
  }
  return null;
}

/** The environments' states belong to the trainer's checkpoints, and are copied when it makes one. */
function checkpoint({ environmentStates }: HandOutParts, registration: Registration, step: number): void {
  const interval = registration.save_checkpoint_interval;
  if (interval > 0 && step % interval === 0) environmentStates.checkpoint(step);
}

function orderOf(registration: Registration, environments: Environments, state: RunState): Order {
  if (registration.mixing === "fifo") return { mixing: "fifo" };
  const weights = new Map([...environments.all()].map(({ id, weight }) => [id, Math.max(0, weight)]));
  return { mixing: "weighted", weights, deficits: state.deficits };
}
