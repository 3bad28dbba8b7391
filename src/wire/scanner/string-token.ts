import { BACKSLASH, isHexDigit, LOWER_U, QUOTE, SPACE } from "./bytes.ts";

const PLAIN = 0;
const ESCAPE = 1;
const HEX = 2;
const MULTIBYTE = 3;

/** The letters that may follow a backslash, \u aside. */
const ESCAPED = new Uint8Array(256);
for (const letter of '"\\/bfnrt') ESCAPED[letter.charCodeAt(0)] = 1;

/** The inside of a JSON string that may come in pieces. */
export class StringToken {
  /** Whether the last `scan` reached the closing quote. */
  closed = false;
  /** What is wrong with the string, in the words of Python's json, and where: bytes from the body's start. */
  fault: { message: string; at: number } | null = null;
  /** How many bytes so far, in all strings, continue a character: bytes minus these are characters. */
  continuations = 0;
  /** As many as there were when the current string began. */
  private continuationsBefore = 0;
  private mode = PLAIN;
  /** Bytes that a \u escape or a multi-byte character still lacks. */
  private lacking = 0;
  /** The range of a character's next byte: narrower after E0, ED, F0 and F4, which rules out overlong forms and surrogates. */
  private low = 0;
  private high = 0;
  /** Where the current escape's backslash stands. */
  private escapeAt = 0;

  begin(): void {
    this.mode = PLAIN;
    this.closed = false;
    this.continuationsBefore = this.continuations;
  }

  /** How many of the continuations stand in the current string. */
  get continuationsInside(): number {
    return this.continuations - this.continuationsBefore;
  }

  /** Whether the body may not end here even with a quote added: an unfinished \u escape, which Python names first. */
  get inHexEscape(): boolean {
    return this.mode === HEX;
  }

  get hexEscapeFault(): { message: string; at: number } {
    return { message: "Invalid \\uXXXX escape", at: this.escapeAt + 1 };
  }

  /** Reads on from inside the string; returns the place after its closing quote, or `end`, or the faulty byte. */
  scan(bytes: Uint8Array, from: number, end: number, base: number): number {
    let at = from;
    while (at < end) {
      if (this.mode === PLAIN) {
        at = this.plainEnd(bytes, at, end);
        if (at === end) return end;
        const byte = bytes[at] ?? 0;
        if (byte === QUOTE) {
          this.closed = true;
          return at + 1;
        }
        if (byte === BACKSLASH) {
          this.mode = ESCAPE;
          this.escapeAt = base + at;
        } else if (byte < SPACE) return this.fail("Invalid control character at", base + at, at);
        else if (!this.beginMultibyte(byte)) return this.fail("Invalid UTF-8 byte at", base + at, at);
        at++;
      } else if (this.mode === MULTIBYTE) {
        const byte = bytes[at] ?? 0;
        if (byte < this.low || byte > this.high) return this.fail("Invalid UTF-8 byte at", base + at, at);
        this.low = 0x80;
        this.high = 0xbf;
        this.continuations++;
        if (--this.lacking === 0) this.mode = PLAIN;
        at++;
      } else {
        if (!this.escape(bytes[at] ?? 0)) return at;
        at++;
      }
    }
    return end;
  }

  private escape(byte: number): boolean {
    if (this.mode === ESCAPE) {
      if (byte === LOWER_U) {
        this.mode = HEX;
        this.lacking = 4;
      } else if (ESCAPED[byte] === 1) this.mode = PLAIN;
      else this.fault = { message: "Invalid \\escape", at: this.escapeAt };
    } else if (isHexDigit(byte)) {
      if (--this.lacking === 0) this.mode = PLAIN;
    } else this.fault = this.hexEscapeFault;
    return this.fault === null;
  }

  private beginMultibyte(lead: number): boolean {
    if (lead < 0xc2 || lead > 0xf4) return false;
    this.lacking = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3;
    this.low = lead === 0xe0 ? 0xa0 : lead === 0xf0 ? 0x90 : 0x80;
    this.high = lead === 0xed ? 0x9f : lead === 0xf4 ? 0x8f : 0xbf;
    this.mode = MULTIBYTE;
    return true;
  }

  private fail(message: string, position: number, at: number): number {
    this.fault = { message, at: position };
    return at;
  }

  /** Passes ordinary characters: up to a quote, a backslash, or what only the slow path can judge. */
  private plainEnd(bytes: Uint8Array, from: number, end: number): number {
    let at = from;
    let continuations = 0;
    while (at < end) {
      const byte = bytes[at] ?? 0;
      if (byte < 0x80) {
        const stop = asciiEnd(bytes, at, end);
        if (stop === at) break;
        at = stop;
      } else if (byte > 0xe0 && byte < 0xf0 && byte !== 0xed) {
        if (at + 2 >= end || !continues(bytes[at + 1] ?? 0) || !continues(bytes[at + 2] ?? 0)) break;
        at += 3;
        continuations += 2;
      } else if (byte >= 0xc2 && byte < 0xe0) {
        if (at + 1 >= end || !continues(bytes[at + 1] ?? 0)) break;
        at += 2;
        continuations++;
      } else break;
    }
    this.continuations += continuations;
    return at;
  }
}

/** 1 for every ASCII character that stands for itself. */
const PLAIN_ASCII = new Uint8Array(256).fill(1, SPACE, 0x80);
PLAIN_ASCII[QUOTE] = 0;
PLAIN_ASCII[BACKSLASH] = 0;

/** Passes plain ASCII, four bytes at a time, which is half as fast again as one by one. */
function asciiEnd(bytes: Uint8Array, from: number, end: number): number {
  const limit = end - 4;
  let at = from;
  while (
    at < limit &&
    (PLAIN_ASCII[bytes[at] ?? 0] ?? 0) &
      (PLAIN_ASCII[bytes[at + 1] ?? 0] ?? 0) &
      (PLAIN_ASCII[bytes[at + 2] ?? 0] ?? 0) &
      (PLAIN_ASCII[bytes[at + 3] ?? 0] ?? 0)
  ) {
    at += 4;
  }
  while (at < end && PLAIN_ASCII[bytes[at] ?? 0] === 1) at++;
  return at;
}

function continues(byte: number): boolean {
  return byte >= 0x80 && byte < 0xc0;
}
