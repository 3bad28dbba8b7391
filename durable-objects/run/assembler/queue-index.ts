import { AgeDeque, type Ages } from "./age-deque.ts";

/** An environment's id in its run; null stands for groups that came without one, which form an environment of their own. */
export type EnvironmentId = number | null;

/** A queued group as the assembler sees it. */
export interface QueuedGroup {
  /** A sequence number, unique in the run: smaller is older. */
  readonly age: number;
  readonly environment: EnvironmentId;
  /** In sequences, at least 1. */
  readonly size: number;
}

/** The queued groups of one environment and size, oldest first. */
export interface GroupClass {
  readonly environment: EnvironmentId;
  readonly size: number;
  readonly ages: Ages;
}

export interface EnvironmentCounts {
  readonly groups: number;
  readonly sequences: number;
  /** By group size. Never holds an empty class. */
  readonly classes: ReadonlyMap<number, GroupClass>;
}

interface EnvironmentQueue extends EnvironmentCounts {
  groups: number;
  sequences: number;
  readonly classes: Map<number, GroupClass & { readonly ages: AgeDeque }>;
}

/**
 * The queued groups of a run, held as numbers in memory (about 10 bytes a group), with every count the assembler reads kept
 * as groups come and go, so that no poll walks the queue (P7).
 */
export class QueueIndex {
  #groups = 0;
  #sequences = 0;
  #version = 0;
  #maxGroupSize = 0;
  readonly #environments = new Map<EnvironmentId, EnvironmentQueue>();
  readonly #groupsBySize = new Map<number, number>();

  get groups(): number {
    return this.#groups;
  }

  get sequences(): number {
    return this.#sequences;
  }

  /** Grows with every change: what was computed at a version stays true while it lasts. */
  get version(): number {
    return this.#version;
  }

  /** In sequences; 0 if nothing is queued. */
  get maxGroupSize(): number {
    return this.#maxGroupSize;
  }

  /** Groups by size over all environments. Never holds a 0. */
  get groupsBySize(): ReadonlyMap<number, number> {
    return this.#groupsBySize;
  }

  /** The environments that have queued groups, and only those. */
  get environments(): ReadonlyMap<EnvironmentId, EnvironmentCounts> {
    return this.#environments;
  }

  /**
   * O(1) for an age above all others of its class, or just below them; else O(log n) and one memory move.
   * @throws RangeError if the size is not a positive integer, the age not finite, or the group already queued.
   */
  add({ age, environment, size }: QueuedGroup): void {
    if (!Number.isSafeInteger(size) || size < 1) throw new RangeError(`group ${age} has size ${size}, need at least 1`);
    if (!Number.isFinite(age)) throw new RangeError(`a group of environment ${environment} has age ${age}`);
    let queue = this.#environments.get(environment);
    if (queue === undefined) {
      queue = { groups: 0, sequences: 0, classes: new Map() };
      this.#environments.set(environment, queue);
    }
    let groupClass = queue.classes.get(size);
    if (groupClass === undefined) {
      groupClass = { environment, size, ages: new AgeDeque() };
      queue.classes.set(size, groupClass);
    }
    if (!groupClass.ages.add(age)) throw new RangeError(`group ${age} of environment ${environment} is queued already`);
    this.#count(queue, size, 1);
    if (size > this.#maxGroupSize) this.#maxGroupSize = size;
  }

  /** Returns false, changing nothing, if no such group is queued. Amortised O(1) for the oldest group of its class. */
  remove(age: number, environment: EnvironmentId, size: number): boolean {
    const queue = this.#environments.get(environment);
    const groupClass = queue?.classes.get(size);
    if (queue === undefined || groupClass === undefined || !groupClass.ages.remove(age)) return false;
    this.#count(queue, size, -1);
    if (groupClass.ages.length === 0) queue.classes.delete(size);
    if (queue.groups === 0) this.#environments.delete(environment);
    if (size === this.#maxGroupSize && !this.#groupsBySize.has(size)) {
      this.#maxGroupSize = 0;
      for (const other of this.#groupsBySize.keys()) this.#maxGroupSize = Math.max(this.#maxGroupSize, other);
    }
    return true;
  }

  #count(queue: EnvironmentQueue, size: number, change: 1 | -1): void {
    this.#version++;
    this.#groups += change;
    this.#sequences += change * size;
    queue.groups += change;
    queue.sequences += change * size;
    const ofSize = (this.#groupsBySize.get(size) ?? 0) + change;
    if (ofSize === 0) this.#groupsBySize.delete(size);
    else this.#groupsBySize.set(size, ofSize);
  }
}
