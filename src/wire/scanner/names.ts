import { BACKSLASH, decodeLiteral, encode } from "./bytes.ts";

/** A handful of keys, found by their bytes without making a string. */
export class Names {
  private readonly names: readonly { text: string; bytes: Uint8Array }[];

  constructor(names: readonly string[]) {
    this.names = names.map((text) => ({ text, bytes: encode(text) }));
  }

  /** The position of the name that a key's literal (without its quotes) spells, or -1. */
  find(literal: Uint8Array, from: number, to: number): number {
    for (let position = 0; position < this.names.length; position++) {
      const bytes = this.names[position]?.bytes;
      if (bytes !== undefined && bytes.length === to - from && sameBytes(bytes, literal, from)) return position;
    }
    if (literal.subarray(from, to).includes(BACKSLASH)) {
      const text = decodeLiteral(literal.subarray(from, to));
      return this.names.findIndex((name) => name.text === text);
    }
    return -1;
  }
}

function sameBytes(name: Uint8Array, literal: Uint8Array, from: number): boolean {
  for (let at = 0; at < name.length; at++) if (name[at] !== literal[from + at]) return false;
  return true;
}
