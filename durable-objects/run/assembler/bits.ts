/** A set of sums: bit n of the little-endian words is set if n sequences can be had. May hold stray bits above the capacity. */
export type Bits = Uint32Array;

/** The set {0}, with room for sums up to `capacity`. */
export function singleton(capacity: number): Bits {
  const bits = new Uint32Array((capacity >>> 5) + 1);
  bits[0] = 1;
  return bits;
}

export function test(bits: Bits, position: number): boolean {
  return (((bits[position >>> 5] ?? 0) >>> (position & 31)) & 1) === 1;
}

/** target |= source << shift. From the top down, so that target and source may be the same set. */
export function or(target: Bits, source: Bits, shift: number): void {
  const words = shift >>> 5;
  const bits = shift & 31;
  for (let to = target.length - 1, from = to - words; from >= 0; to--, from--) {
    let word = (source[from] ?? 0) << bits;
    // `x >>> 32` is x in JavaScript, not 0.
    if (bits > 0 && from > 0) word |= (source[from - 1] ?? 0) >>> (32 - bits);
    target[to] = (target[to] ?? 0) | word;
  }
}

/** Every a + b up to the capacity, for a in `first` and b in `second`; cheapest when `second` is the sparser. */
export function sumset(first: Bits, second: Bits, capacity: number): Bits {
  const sums = singleton(capacity);
  sums[0] = 0;
  for (let index = 0; index < second.length; index++) {
    for (let word = second[index] ?? 0; word !== 0; word &= word - 1) {
      // word & -word is the lowest set bit, which word & (word - 1) then clears.
      or(sums, first, index * 32 + 31 - Math.clz32(word & -word));
    }
  }
  return sums;
}

/** Removes what is below `low` or above `high`. */
export function keepRange(bits: Bits, low: number, high: number): void {
  for (let index = 0; index < bits.length; index++) {
    bits[index] = (bits[index] ?? 0) & maskFrom(low - index * 32) & ~maskFrom(high + 1 - index * 32);
  }
}

/** The highest position, or null in an empty set. Stray bits above the capacity count: remove them first. */
export function highestBit(bits: Bits): number | null {
  for (let index = bits.length - 1; index >= 0; index--) {
    const word = bits[index] ?? 0;
    if (word !== 0) return index * 32 + 31 - Math.clz32(word);
  }
  return null;
}

/** A word with the bits from `position` up; a position outside of the word gives all or none. */
function maskFrom(position: number): number {
  if (position <= 0) return -1;
  return position >= 32 ? 0 : -1 << position;
}
