/**
 * The hot loops. A run is a stretch of `number , number ,` inside one chunk. These loops take only the usual spellings
 * and leave the rest (the chunk's end, odd or faulty literals) to the resumable machine, which
 * accepts everything; so they may give up at any number but may never accept one that the machine would refuse or rewrite
 * differently.
 */
import { CLOSE_LIST, COMMA, isWhitespace, LOWER_E, MINUS, NINE, PLUS, POINT, SPACE, UPPER_E, ZERO } from "./bytes.ts";
import type { Emitter } from "./emitter.ts";

/** Where a run ended. One object, reused. */
export interface Run {
  /** The start of the first number not taken, or the list's closing bracket. */
  at: number;
  /** How many commas were passed. */
  count: number;
  /** Whether the list's last number was taken. */
  ended: boolean;
}

/** No usual number with its separator is longer; so far from the chunk's end no loop reads beyond it. */
const MARGIN = 40;
/** Integers of up to so many digits are below 2^53. */
const SAFE_DIGITS = 15;
/** Floats of up to so many characters, with an exponent below 100, are finite. */
const USUAL_FLOAT = 32;

/** Takes integers; from floats such as `5.0` the fraction is left out. */
export function takeIntegers(bytes: Uint8Array, end: number, run: Run, emitter: Emitter): void {
  const limit = end - MARGIN;
  let at = run.at;
  let count = 0;
  let ended = false;
  while (at < limit) {
    let next = at;
    let byte = bytes[next] ?? 0;
    if (byte === MINUS) byte = bytes[++next] ?? 0;
    const first = next;
    if (byte === ZERO) byte = bytes[++next] ?? 0;
    else while (byte >= ZERO && byte <= NINE) byte = bytes[++next] ?? 0;
    if (next === first || next - first > SAFE_DIGITS) break;
    if (byte === POINT) {
      const point = next;
      byte = bytes[++next] ?? 0;
      while (byte === ZERO) byte = bytes[++next] ?? 0;
      const negativeZero = bytes[first] === ZERO && first > at;
      if ((byte !== COMMA && byte !== CLOSE_LIST) || next === point + 1 || negativeZero) break;
      emitter.through(point);
      emitter.skip(next);
    }
    if (byte !== COMMA) {
      ended = byte === CLOSE_LIST;
      if (ended) at = next;
      break;
    }
    byte = bytes[++next] ?? 0;
    if (byte === SPACE) byte = bytes[++next] ?? 0;
    while (byte <= SPACE && next < end && isWhitespace(byte)) byte = bytes[++next] ?? 0;
    at = next;
    count++;
  }
  run.at = at;
  run.count = count;
  run.ended = ended;
}

const POINT_ZERO = new Uint8Array([POINT, ZERO]);

/** Takes floats; integer literals among them get their `.0` when there is an emitter. */
export function takeFloats(bytes: Uint8Array, end: number, run: Run, emitter: Emitter | null): void {
  const limit = end - MARGIN;
  let at = run.at;
  let count = 0;
  let ended = false;
  while (at < limit) {
    let next = at;
    let byte = bytes[next] ?? 0;
    if (byte === MINUS) byte = bytes[++next] ?? 0;
    const first = next;
    if (byte === ZERO) byte = bytes[++next] ?? 0;
    else while (byte >= ZERO && byte <= NINE) byte = bytes[++next] ?? 0;
    if (next === first) break;
    let whole = true;
    if (byte === POINT) {
      whole = false;
      const fraction = ++next;
      byte = bytes[next] ?? 0;
      while (byte >= ZERO && byte <= NINE) byte = bytes[++next] ?? 0;
      if (next === fraction) break;
    }
    if (byte === LOWER_E || byte === UPPER_E) {
      whole = false;
      byte = bytes[++next] ?? 0;
      if (byte === MINUS || byte === PLUS) byte = bytes[++next] ?? 0;
      const exponent = next;
      while (byte >= ZERO && byte <= NINE) byte = bytes[++next] ?? 0;
      if (next === exponent || next - exponent > 2) break;
    }
    if ((byte !== COMMA && byte !== CLOSE_LIST) || next - at > USUAL_FLOAT) break;
    if (whole && emitter !== null) {
      emitter.through(next);
      emitter.insert(POINT_ZERO);
    }
    if (byte === CLOSE_LIST) {
      ended = true;
      at = next;
      break;
    }
    byte = bytes[++next] ?? 0;
    if (byte === SPACE) byte = bytes[++next] ?? 0;
    while (byte <= SPACE && next < end && isWhitespace(byte)) byte = bytes[++next] ?? 0;
    at = next;
    count++;
  }
  run.at = at;
  run.count = count;
  run.ended = ended;
}
