/** The bytes that JSON's grammar names. */
export const TAB = 0x09;
export const LINE_FEED = 0x0a;
export const CARRIAGE_RETURN = 0x0d;
export const SPACE = 0x20;
export const QUOTE = 0x22;
export const PLUS = 0x2b;
export const COMMA = 0x2c;
export const MINUS = 0x2d;
export const POINT = 0x2e;
export const ZERO = 0x30;
export const NINE = 0x39;
export const COLON = 0x3a;
export const UPPER_E = 0x45;
export const UPPER_I = 0x49;
export const OPEN_LIST = 0x5b;
export const BACKSLASH = 0x5c;
export const CLOSE_LIST = 0x5d;
export const LOWER_E = 0x65;
export const LOWER_U = 0x75;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;

export function isDigit(byte: number): boolean {
  return byte >= ZERO && byte <= NINE;
}

export function isWhitespace(byte: number): boolean {
  return byte === SPACE || byte === LINE_FEED || byte === CARRIAGE_RETURN || byte === TAB;
}

export function isHexDigit(byte: number): boolean {
  return isDigit(byte) || (byte >= 0x41 && byte <= 0x46) || (byte >= 0x61 && byte <= 0x66);
}

export const NO_BYTES: Uint8Array = new Uint8Array(0);

const encoder = new TextEncoder();
const decoder = new TextDecoder("utf-8", { ignoreBOM: true, fatal: false });

export function encode(text: string): Uint8Array {
  return encoder.encode(text);
}

/** Bytes to text; bytes cut from the middle of a character become U+FFFD. */
export function decode(bytes: Uint8Array): string {
  return decoder.decode(bytes);
}

/** The text that the inside of a JSON string literal stands for; a literal that was cut off inside an escape stays raw. */
export function decodeLiteral(bytes: Uint8Array): string {
  const raw = decode(bytes);
  if (!raw.includes("\\")) return raw;
  try {
    const text: unknown = JSON.parse(`"${raw}"`);
    return typeof text === "string" ? text : raw;
  } catch {
    return raw;
  }
}

/** A short byte buffer that keeps the beginning of what is appended, up to a limit, and the whole length. */
export class Snippet {
  readonly limit: number;
  /** Bytes seen, kept or not. */
  length = 0;
  private kept = new Uint8Array(64);

  constructor(limit: number) {
    this.limit = limit;
  }

  clear(): void {
    this.length = 0;
  }

  append(bytes: Uint8Array, from: number, to: number): void {
    const stop = Math.min(this.limit, this.length + to - from);
    if (stop > this.kept.length) this.grow(stop);
    for (let at = this.length, source = from; at < stop; at++, source++) this.kept[at] = bytes[source] ?? 0;
    this.length += to - from;
  }

  get complete(): boolean {
    return this.length <= this.limit;
  }

  /** Valid until the next append. */
  view(): Uint8Array {
    return this.kept.subarray(0, Math.min(this.length, this.limit));
  }

  private grow(need: number): void {
    const larger = new Uint8Array(Math.min(this.limit, Math.max(need, this.kept.length * 4)));
    larger.set(this.kept.subarray(0, this.length));
    this.kept = larger;
  }
}
