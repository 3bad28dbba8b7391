/** 32 bits of a list of parts, independent for each salt. */
export function hash(salt: number, ...parts: readonly (string | number)[]): number {
  let state = mix(salt);
  for (const part of parts) {
    const text = typeof part === "number" ? `n${part}` : `s${part}`;
    for (let i = 0; i < text.length; i++) state = Math.imul(state ^ text.charCodeAt(i), 0x01000193);
    // The length ends a part, so that parts cannot run into each other.
    state = mix(state ^ text.length);
  }
  return state;
}

/** Spreads every bit of a 32-bit word over all of them (the finaliser of MurmurHash3). */
export function mix(word: number): number {
  let bits = word | 0;
  bits = Math.imul(bits ^ (bits >>> 16), 0x85ebca6b);
  bits = Math.imul(bits ^ (bits >>> 13), 0xc2b2ae35);
  return (bits ^ (bits >>> 16)) >>> 0;
}
