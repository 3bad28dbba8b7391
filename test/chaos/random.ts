/** A stream of numbers in [0, 1), and what is commonly drawn from it. */
export class Random {
  #state: number;

  /** The streams of one seed and different names are unlike each other, and the same in every run. */
  constructor(seed: number, name: string) {
    this.#state = hash(`${seed}/${name}`);
  }

  /** mulberry32. */
  next(): number {
    this.#state = (this.#state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** `low` and `high` included. */
  integer(low: number, high: number): number {
    return Math.floor(this.between(low, high + 1));
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** One of the names, each as often as its weight says. */
  pick<Name extends string>(weights: Readonly<Record<Name, number>>): Name {
    const entries = names(weights).map((name) => ({ name, weight: weights[name] }));
    let rest = this.next() * entries.reduce((sum, { weight }) => sum + weight, 0);
    for (const { name, weight } of entries) {
      rest -= weight;
      if (rest < 0) return name;
    }
    throw new Error("nothing to pick from: all weights are 0");
  }
}

function names<Name extends string>(record: Readonly<Record<Name, unknown>>): Name[] {
  const found: Name[] = [];
  for (const name in record) found.push(name);
  return found;
}

/** FNV-1a. */
function hash(text: string): number {
  let mixed = 0x811c9dc5;
  for (let at = 0; at < text.length; at++) mixed = Math.imul(mixed ^ text.charCodeAt(at), 0x01000193);
  return mixed;
}

export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
