/**
 * A seeded generator (sfc32): the same seed gives the same numbers on every machine. Initialisation, pre-training and
 * sampling all draw from one of these, so a run can be repeated.
 */
export class Random {
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed any number; only its 53 whole bits matter. */
  constructor(seed: number) {
    this.#a = Math.trunc(seed) | 0;
    this.#b = Math.trunc(seed / 2 ** 32) | 0;
    this.#c = 0x9e3779b9 | 0;
    // Neighbouring seeds start out alike; a dozen rounds spread them.
    for (let round = 0; round < 12; round++) this.#next();
  }

  /** Uniform in [0, 1). */
  uniform(): number {
    return this.#next() / 2 ** 32;
  }

  /** A whole number in [min, max]. */
  integer(min: number, max: number): number {
    return min + Math.floor(this.uniform() * (max - min + 1));
  }

  /** Normally distributed, mean 0 and deviation 1. */
  normal(): number {
    return Math.sqrt(-2 * Math.log(1 - this.uniform())) * Math.cos(2 * Math.PI * this.uniform());
  }

  /** @throws RangeError when there is nothing to pick from. */
  pick<T>(choices: readonly T[]): T {
    const choice = choices[this.integer(0, choices.length - 1)];
    if (choice === undefined) throw new RangeError("nothing to pick from: the list is empty");
    return choice;
  }

  /** A seed for a generator of its own. */
  seed(): number {
    return this.#next() * 2 ** 20 + (this.#next() & 0xfffff);
  }

  #next(): number {
    const sum = (this.#a + this.#b + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum >>> 0;
  }
}
