import { BinaryHeap } from "./binary-heap.ts";
import type { Candidates, IsRuledOut, Probe } from "./candidates.ts";
import type { GroupClass, QueuedGroup } from "./queue-index.ts";

interface Cursor {
  readonly groupClass: GroupClass;
  position: number;
  age: number;
}

/**
 * Groups of several classes in age order: a k-way merge, O(classes) to build and O(log classes) a group. A class that is
 * ruled out is skipped for good, so ruling out must be final.
 */
export class AgeOrder implements Candidates {
  readonly #heads: BinaryHeap<Cursor>;
  /** Given back, the oldest last; all older than any head. */
  readonly #returned: QueuedGroup[] = [];
  readonly #isRuledOut: IsRuledOut;
  readonly #probe: Probe | undefined;

  constructor(classes: Iterable<GroupClass>, isRuledOut: IsRuledOut, probe?: Probe) {
    const cursors: Cursor[] = [];
    for (const groupClass of classes) {
      const age = groupClass.ages.at(0);
      if (age === undefined || isRuledOut(groupClass.environment, groupClass.size)) continue;
      cursors.push({ groupClass, position: 0, age });
    }
    this.#heads = new BinaryHeap((a, b) => a.age < b.age, cursors);
    this.#isRuledOut = isRuledOut;
    this.#probe = probe;
  }

  /** The age of the next group, if there is one. */
  nextAge(): number | undefined {
    return this.#nextReturned()?.age ?? this.#nextHead()?.age;
  }

  next(): QueuedGroup | undefined {
    const returned = this.#nextReturned();
    const head = returned === undefined ? this.#nextHead() : undefined;
    if (returned === undefined && head === undefined) return undefined;
    if (this.#probe !== undefined) this.#probe.groupsRead++;
    if (head === undefined) return this.#returned.pop();
    const { groupClass, age } = head;
    const following = groupClass.ages.at(++head.position);
    if (following === undefined) this.#heads.pop();
    else {
      head.age = following;
      this.#heads.replaceTop(head);
    }
    return { age, environment: groupClass.environment, size: groupClass.size };
  }

  giveBack(group: QueuedGroup): void {
    this.#returned.push(group);
  }

  #nextReturned(): QueuedGroup | undefined {
    for (;;) {
      const group = this.#returned.at(-1);
      if (group === undefined || !this.#isRuledOut(group.environment, group.size)) return group;
      this.#returned.pop();
    }
  }

  #nextHead(): Cursor | undefined {
    for (;;) {
      const head = this.#heads.peek();
      if (head === undefined || !this.#isRuledOut(head.groupClass.environment, head.groupClass.size)) return head;
      this.#heads.pop();
    }
  }
}
