import { hash } from "./hash.ts";

export { itemOrder } from "./item-order.ts";

/**
 * Seeded random numbers: the same seed and stream names give the same numbers on every machine. The generator is sfc32
 * (small fast counting: 128 bits of state, passes PractRand), so streams of different names do not overlap in practice.
 * Not for secrets.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed the low 32 bits count. @param stream names or numbers of an independent stream of that seed. */
  constructor(seed: number, ...stream: readonly (string | number)[]) {
    this.#a = hash(0x9e3779b9, seed >>> 0, ...stream);
    this.#b = hash(0x7f4a7c15, seed >>> 0, ...stream);
    this.#c = hash(0xd1b54a32, seed >>> 0, ...stream);
    for (let i = 0; i < 12; i++) this.#word();
  }

  /** The stream that these parts name. `1` and `"1"` are different parts, and so are `["ab"]` and `["a", "b"]`. */
  static of(...parts: readonly (string | number)[]): Random {
    return new Random(0, ...parts);
  }

  /** In [0, 1), in steps of 2⁻³². */
  next(): number {
    return this.#word() / 2 ** 32;
  }

  /**
   * A whole number from `low` to `high`, both included.
   * @throws RangeError when there is none, or the range has more than 2³² numbers.
   */
  int(low: number, high: number): number {
    const count = high - low + 1;
    if (!Number.isSafeInteger(low) || !Number.isSafeInteger(high) || count < 1 || count > 2 ** 32) {
      throw new RangeError(`no whole number can be drawn from ${low} to ${high}`);
    }
    return low + Math.floor(this.next() * count);
  }

  /** @throws RangeError when the list is empty. */
  pick<T extends NonNullable<unknown>>(list: readonly T[]): T {
    const item = list.length === 0 ? undefined : list[this.int(0, list.length - 1)];
    if (item === undefined) throw new RangeError("nothing can be picked from an empty list");
    return item;
  }

  /** A shuffled copy. */
  shuffle<T>(list: readonly T[]): T[] {
    const keyed = list.map((item) => ({ item, key: this.next() + this.next() / 2 ** 32 }));
    return keyed.sort((a, b) => a.key - b.key).map(({ item }) => item);
  }

  /** Normally distributed with mean 0 and deviation 1 (Box-Muller). */
  normal(): number {
    const radius = Math.sqrt(-2 * Math.log(1 - this.next()));
    return radius * Math.cos(2 * Math.PI * this.next());
  }

  #word(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}
