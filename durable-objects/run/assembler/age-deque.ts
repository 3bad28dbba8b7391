/** What a reader of one class's queue sees: `at(0)` is the oldest age, `at(length - 1)` the youngest. */
export interface Ages {
  readonly length: number;
  at(position: number): number | undefined;
}

/** Below this many dead slots, compaction costs more than the memory it wins. */
const MIN_DEAD_SLOTS = 256;

/**
 * Ages in ascending order, in one flat array of numbers (8 bytes each) with a moving head. Adding at either end and
 * removing the head are amortised O(1); elsewhere O(log n) to find and one memory move.
 */
export class AgeDeque implements Ages {
  #slots: number[] = [];
  #head = 0;

  get length(): number {
    return this.#slots.length - this.#head;
  }

  at(position: number): number | undefined {
    return position < 0 ? undefined : this.#slots[this.#head + position];
  }

  /** Returns false, changing nothing, if the age is there already. */
  add(age: number): boolean {
    const youngest = this.#slots.at(-1);
    if (this.length === 0 || youngest === undefined || age > youngest) {
      this.#slots.push(age);
      return true;
    }
    const slot = this.#slotOf(age);
    if (this.#slots[slot] === age) return false;
    // A group that returns from a released batch is usually older than all others: its old slot is still free.
    if (slot === this.#head && slot > 0) this.#slots[--this.#head] = age;
    else this.#slots.splice(slot, 0, age);
    return true;
  }

  /** Returns false, changing nothing, if the age is not there. */
  remove(age: number): boolean {
    const slot = this.#slots[this.#head] === age ? this.#head : this.#slotOf(age);
    if (this.#slots[slot] !== age) return false;
    if (slot !== this.#head) {
      this.#slots.splice(slot, 1);
      return true;
    }
    this.#head++;
    if (this.#head >= MIN_DEAD_SLOTS && this.#head * 2 >= this.#slots.length) {
      this.#slots = this.#slots.slice(this.#head);
      this.#head = 0;
    }
    return true;
  }

  /** The first live slot whose age is at least `age`. */
  #slotOf(age: number): number {
    let low = this.#head;
    let high = this.#slots.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      const at = this.#slots[middle];
      if (at !== undefined && at < age) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}
