import type { Probe } from "./candidates.ts";
import { demandOf } from "./demand.ts";
import { canFill, type SizeCounts, type UnmetFloor } from "./feasibility.ts";
import type { EnvironmentId, QueuedGroup, QueueIndex } from "./queue-index.ts";

/** Groups that can stand in for each other in any completion: same size, and same environment while its floor is unmet. */
interface Exchangeable {
  /** Groups left, by size. */
  readonly counts: Map<number, number>;
  /** Sizes that no completion uses. */
  readonly ruledOut: Set<number>;
}

interface Floored extends Exchangeable {
  /** Sequences to go to the floor; 0 or less once it is met. */
  missing: number;
  /** As of the settled picks; above 0. */
  settledMissing: number;
}

/**
 * A batch being filled: what it still needs and what is left to take, with groups taken tentatively and put back.
 *
 * Ruling out. Let no completion of the picks contain group g. More picks only leave fewer completions, so that is final. It
 * also holds for each group h exchangeable with g: a completion with h would not contain g, and with g in h's place would be
 * one with g. So all of g's class goes at once. An environment whose floor the picks meet joins the pool, and its groups are
 * exchangeable with the pool's of their size from then on; as a class that was ruled out still holds the group that
 * was refused, what is ruled out on either side is ruled out on both: joining takes the union.
 */
export class OpenBatch {
  readonly #pool: Exchangeable;
  /** Floors unmet by the settled picks. */
  readonly #floored = new Map<EnvironmentId, Floored>();
  readonly #probe: Probe | undefined;
  #capacity: number;
  /** The part of the capacity that no floor claims; below 0 the batch cannot be completed. */
  #unclaimed: number;
  /** As of the settled picks: ruling out must be final, so tentative picks have no part in it. */
  #settledUnclaimed: number;

  constructor(index: QueueIndex, batchSize: number, floors: ReadonlyMap<number, number>, probe?: Probe) {
    const { pool, floored } = demandOf(index, batchSize, floors);
    this.#pool = { counts: pool, ruledOut: new Set() };
    this.#capacity = this.#unclaimed = batchSize;
    for (const [environment, { missing, counts }] of floored) {
      this.#floored.set(environment, { missing, settledMissing: missing, counts, ruledOut: new Set() });
      this.#unclaimed -= missing;
    }
    this.#settledUnclaimed = this.#unclaimed;
    this.#probe = probe;
  }

  /** Sequences still to come. */
  get capacity(): number {
    return this.#capacity;
  }

  /** Whether there is room for the group next to what the floors claim: necessary for a completion, and O(1). */
  hasRoomFor({ environment, size }: QueuedGroup): boolean {
    return size <= this.#unclaimed + Math.max(0, this.#floored.get(environment)?.missing ?? 0);
  }

  take(group: QueuedGroup): void {
    this.#move(group, 1);
  }

  putBack(group: QueuedGroup): void {
    this.#move(group, -1);
  }

  isComplete(): boolean {
    if (this.#capacity !== 0) return false;
    for (const { missing } of this.#floored.values()) if (missing > 0) return false;
    return true;
  }

  /** Whether what is left can complete the batch. */
  isCompletable(): boolean {
    const pool: SizeCounts[] = [this.#pool.counts];
    const unmet: UnmetFloor[] = [];
    for (const environment of this.#floored.values()) {
      if (environment.missing > 0) unmet.push(environment);
      else pool.push(environment.counts);
    }
    if (this.#probe !== undefined) this.#probe.feasibilityChecks++;
    return canFill(this.#capacity, pool, unmet);
  }

  /** Makes the groups taken so far final. */
  settle(): void {
    this.#settledUnclaimed = this.#unclaimed;
    for (const [environment, floored] of this.#floored) {
      floored.settledMissing = floored.missing;
      if (floored.missing > 0) continue;
      this.#floored.delete(environment);
      for (const [size, count] of floored.counts) {
        this.#pool.counts.set(size, (this.#pool.counts.get(size) ?? 0) + count);
      }
      for (const size of floored.ruledOut) this.#pool.ruledOut.add(size);
    }
  }

  /** To be called, when settled, for a group that no completion contains: rules out all that could stand in for it. */
  ruleOut({ environment, size }: QueuedGroup): void {
    (this.#floored.get(environment) ?? this.#pool).ruledOut.add(size);
  }

  isRuledOut(environment: EnvironmentId, size: number): boolean {
    const floored = this.#floored.get(environment);
    const room = this.#settledUnclaimed + (floored?.settledMissing ?? 0);
    return size > room || (floored ?? this.#pool).ruledOut.has(size);
  }

  #move({ environment, size }: QueuedGroup, taken: 1 | -1): void {
    const floored = this.#floored.get(environment);
    this.#capacity -= taken * size;
    this.#unclaimed -= taken * size;
    if (floored !== undefined) {
      const claimed = Math.max(0, floored.missing);
      floored.missing -= taken * size;
      this.#unclaimed += claimed - Math.max(0, floored.missing);
    }
    const { counts } = floored ?? this.#pool;
    counts.set(size, (counts.get(size) ?? 0) - taken);
  }
}
