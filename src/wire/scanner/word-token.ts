import { encode } from "./bytes.ts";

/** The bare words of JSON, and those that Python's json writes for numbers that aren't finite. */
export type Word = "true" | "false" | "null" | "NaN" | "Infinity" | "-Infinity";

const WORDS: readonly Word[] = ["true", "false", "null", "NaN", "Infinity", "-Infinity"];
const SPELLINGS = WORDS.map((word) => ({ word, bytes: encode(word) }));

/** A bare word that may come in pieces. */
export class WordToken {
  /** The word whose first letter `begin` saw. */
  word: Word = "null";
  private bytes: Uint8Array = new Uint8Array(0);
  private matched = 0;

  /** Whether a word begins with this byte; "-Infinity" begins, for this, at its I. */
  begin(byte: number, negative = false): boolean {
    const skip = negative ? 1 : 0;
    const spelling = SPELLINGS.find(({ word, bytes }) => word.startsWith("-") === negative && bytes[skip] === byte);
    if (spelling === undefined) return false;
    this.word = spelling.word;
    this.bytes = spelling.bytes;
    this.matched = skip;
    return true;
  }

  get complete(): boolean {
    return this.matched === this.bytes.length;
  }

  /** Reads on; returns the place after the word, or `end`, or the first byte that differs. */
  scan(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    while (at < end && !this.complete && bytes[at] === this.bytes[this.matched]) {
      at++;
      this.matched++;
    }
    return at;
  }
}
