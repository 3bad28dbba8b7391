import { isDigit, LOWER_E, MINUS, PLUS, POINT, Snippet, UPPER_E, ZERO } from "./bytes.ts";

/** Longest number literal that is kept; the exact decimal form of the smallest double has 1,077 characters. */
export const MAX_LITERAL = 2048;

const START = 0;
const AFTER_MINUS = 1;
const AFTER_ZERO = 2;
const IN_INTEGER = 3;
const AFTER_POINT = 4;
const IN_FRACTION = 5;
const AFTER_E = 6;
const AFTER_SIGN = 7;
const IN_EXPONENT = 8;

/** A JSON number that may come in pieces. */
export class NumberToken {
  /** The literal so far, kept only when asked for. */
  readonly literal = new Snippet(MAX_LITERAL);
  /** Where (bytes from the body's start) the longest complete number ends that this began with; -1: it isn't one yet. */
  validTo = -1;
  private state = START;
  private keep = false;

  begin(keep: boolean): void {
    this.state = START;
    this.keep = keep;
    this.validTo = -1;
    this.literal.clear();
  }

  /** Whether the number is complete if nothing follows. */
  get complete(): boolean {
    return this.state === AFTER_ZERO || this.inDigits;
  }

  /** Whether only a minus was read so far: what follows may be -Infinity. */
  get bareMinus(): boolean {
    return this.state === AFTER_MINUS;
  }

  /** Whether it has neither a point nor an exponent. */
  get whole(): boolean {
    return this.state <= IN_INTEGER;
  }

  /** Reads on; returns where the number ends, or `end` when it may go on. `base`: the chunk's place in the body. */
  scan(bytes: Uint8Array, from: number, end: number, base: number): number {
    let at = from;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (isDigit(byte) && this.inDigits) {
        at++;
        continue;
      }
      const next = this.step(byte);
      if (next < 0) break;
      if (next === AFTER_POINT || (next === AFTER_E && this.complete)) this.validTo = base + at;
      this.state = next;
      at++;
    }
    if (this.keep) this.literal.append(bytes, from, at);
    return at;
  }

  private get inDigits(): boolean {
    return this.state === IN_INTEGER || this.state === IN_FRACTION || this.state === IN_EXPONENT;
  }

  /** The state after one more byte that isn't just a further digit, or -1 when the byte doesn't belong to the number. */
  private step(byte: number): number {
    const { state } = this;
    if (isDigit(byte)) {
      if (state <= AFTER_MINUS) return byte === ZERO ? AFTER_ZERO : IN_INTEGER;
      if (state === AFTER_ZERO) return -1;
      return state === AFTER_POINT ? IN_FRACTION : IN_EXPONENT;
    }
    if (byte === POINT) return state === AFTER_ZERO || state === IN_INTEGER ? AFTER_POINT : -1;
    if (byte === LOWER_E || byte === UPPER_E) return this.complete && state !== IN_EXPONENT ? AFTER_E : -1;
    if (byte === MINUS && state === START) return AFTER_MINUS;
    return (byte === MINUS || byte === PLUS) && state === AFTER_E ? AFTER_SIGN : -1;
  }
}
