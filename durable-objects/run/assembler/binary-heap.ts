/** A binary heap whose top comes `before` all others. Building is O(n), each change O(log n). */
export class BinaryHeap<T> {
  readonly #items: T[];
  readonly #before: (a: T, b: T) => boolean;

  constructor(before: (a: T, b: T) => boolean, items: Iterable<T> = []) {
    this.#before = before;
    this.#items = [...items];
    for (let position = (this.#items.length >>> 1) - 1; position >= 0; position--) this.#sink(position);
  }

  peek(): T | undefined {
    return this.#items[0];
  }

  push(item: T): void {
    this.#items.push(item);
    this.#rise(this.#items.length - 1);
  }

  pop(): T | undefined {
    const top = this.#items[0];
    const last = this.#items.pop();
    if (last !== undefined && this.#items.length > 0) this.replaceTop(last);
    return top;
  }

  /** One sift instead of a pop and a push. */
  replaceTop(item: T): void {
    this.#items[0] = item;
    this.#sink(0);
  }

  #rise(start: number): void {
    let position = start;
    while (position > 0) {
      const parent = (position - 1) >>> 1;
      if (!this.#swapIfBefore(position, parent)) return;
      position = parent;
    }
  }

  #sink(start: number): void {
    let position = start;
    for (;;) {
      const left = 2 * position + 1;
      const first = this.#isBefore(left + 1, left) ? left + 1 : left;
      if (!this.#swapIfBefore(first, position)) return;
      position = first;
    }
  }

  #isBefore(position: number, other: number): boolean {
    const a = this.#items[position];
    const b = this.#items[other];
    return a !== undefined && b !== undefined && this.#before(a, b);
  }

  #swapIfBefore(position: number, other: number): boolean {
    const a = this.#items[position];
    const b = this.#items[other];
    if (a === undefined || b === undefined || !this.#before(a, b)) return false;
    this.#items[position] = b;
    this.#items[other] = a;
    return true;
  }
}
