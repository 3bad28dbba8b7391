import { AgeOrder } from "./age-order.ts";
import { BinaryHeap } from "./binary-heap.ts";
import type { Candidates, IsRuledOut, Probe } from "./candidates.ts";
import type { EnvironmentId, GroupClass, QueuedGroup, QueueIndex } from "./queue-index.ts";

interface Turn {
  readonly classes: ReadonlyMap<number, GroupClass>;
  /** Made when first read from: of thousands of environments, few come into one batch. */
  groups: AgeOrder | undefined;
  readonly earned: number;
  /** Sequences read in this batch. An integer, so that giving back restores the deficit exactly. */
  picked: number;
  /** The entry of the heap that counts; older ones are stale. */
  entry: Entry | undefined;
}

interface Entry {
  readonly turn: Turn;
  readonly deficit: number;
  readonly age: number;
}

/**
 * The order of weighted mixing (P6): the oldest group of all (P4), then always the oldest of the environment with the largest
 * deficit, equal deficits by age. So an environment whose share is less than one group a batch gets more than its share while
 * its groups are the oldest: P4 comes before P6. O(classes) to build; O(log classes) a group, but O(environments) for the first.
 */
export class DeficitOrder implements Candidates {
  readonly #turns = new Map<EnvironmentId, Turn>();
  readonly #heap: BinaryHeap<Entry>;
  readonly #isRuledOut: IsRuledOut;
  readonly #probe: Probe | undefined;
  #read = 0;

  constructor(index: QueueIndex, earned: ReadonlyMap<EnvironmentId, number>, isRuledOut: IsRuledOut, probe?: Probe) {
    this.#isRuledOut = isRuledOut;
    this.#probe = probe;
    const entries: Entry[] = [];
    for (const [environment, { classes }] of index.environments) {
      const turn: Turn = {
        classes,
        groups: undefined,
        earned: earned.get(environment) ?? 0,
        picked: 0,
        entry: undefined,
      };
      this.#turns.set(environment, turn);
      const entry = this.#enter(turn);
      if (entry !== undefined) entries.push(entry);
    }
    this.#heap = new BinaryHeap((a, b) => a.deficit > b.deficit || (a.deficit === b.deficit && a.age < b.age), entries);
  }

  next(): QueuedGroup | undefined {
    const turn = this.#read === 0 ? this.#oldest() : this.#neediest();
    if (turn === undefined) return undefined;
    turn.groups ??= new AgeOrder(turn.classes.values(), this.#isRuledOut, this.#probe);
    const group = turn.groups.next();
    if (group === undefined) return undefined;
    this.#charge(turn, group.size);
    this.#read++;
    return group;
  }

  giveBack(group: QueuedGroup): void {
    const turn = this.#turns.get(group.environment);
    if (turn?.groups === undefined) throw new Error(`group ${group.age} was given back but never read`);
    turn.groups.giveBack(group);
    this.#charge(turn, -group.size);
    this.#read--;
  }

  #charge(turn: Turn, sequences: number): void {
    turn.picked += sequences;
    const entry = this.#enter(turn);
    if (entry !== undefined) this.#heap.push(entry);
  }

  #oldest(): Turn | undefined {
    let oldest: Turn | undefined;
    let oldestAge = Number.POSITIVE_INFINITY;
    for (const turn of this.#turns.values()) {
      const age = this.#nextAge(turn);
      if (age === undefined || age >= oldestAge) continue;
      oldest = turn;
      oldestAge = age;
    }
    return oldest;
  }

  #neediest(): Turn | undefined {
    for (;;) {
      const entry = this.#heap.peek();
      if (entry === undefined) return undefined;
      if (entry.turn.entry === entry && this.#nextAge(entry.turn) !== undefined) return entry.turn;
      this.#heap.pop();
    }
  }

  /** Makes the turn's current entry; none if it has no group left, until one is given back. */
  #enter(turn: Turn): Entry | undefined {
    const age = this.#nextAge(turn);
    turn.entry = age === undefined ? undefined : { turn, deficit: turn.earned - turn.picked, age };
    return turn.entry;
  }

  #nextAge({ classes, groups }: Turn): number | undefined {
    if (groups !== undefined) return groups.nextAge();
    let oldest: number | undefined;
    for (const { environment, size, ages } of classes.values()) {
      if (this.#isRuledOut(environment, size)) continue;
      const age = ages.at(0);
      if (age !== undefined && (oldest === undefined || age < oldest)) oldest = age;
    }
    return oldest;
  }
}
