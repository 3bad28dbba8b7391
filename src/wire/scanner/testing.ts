import { decode, encode } from "./bytes.ts";
import { GroupScanner } from "./group-scanner.ts";
import type { GroupSink, ScannedGroup, ScanOptions, ScanResult } from "./types.ts";

/** All that a scan gave: its result, and for each group that was completed its text and envelope. */
export interface Scan {
  result: ScanResult;
  texts: string[];
  envelopes: ScannedGroup[];
}

/** Scans a body cut at `cuts` (byte positions, in any order). Chunks are wiped after each push: nothing may keep them. */
export function scan(
  mode: "group" | "list",
  body: string | Uint8Array,
  { cuts = [], ...options }: ScanOptions & { cuts?: number[] } = {},
): Scan {
  const bytes = typeof body === "string" ? encode(body) : body;
  const sink = new CollectingSink();
  const scanner = new GroupScanner(mode, sink, options);
  const ends = [...cuts.filter((cut) => cut < bytes.length).sort((a, b) => a - b), bytes.length];
  let from = 0;
  for (const to of ends) {
    const chunk = bytes.slice(from, to);
    scanner.push(chunk);
    chunk.fill(0);
    from = to;
  }
  const result = scanner.end();
  return { result, texts: sink.texts, envelopes: sink.envelopes };
}

/** The errors of a scan as `type loc`, one line each. */
export function faults({ result }: Scan): string[] {
  return result.ok ? [] : result.errors.map(({ type, loc }) => `${type} ${loc.join(".")}`);
}

export class CollectingSink implements GroupSink {
  readonly texts: string[] = [];
  readonly envelopes: ScannedGroup[] = [];
  private pieces: Uint8Array[] | null = null;

  groupStart(index: number): void {
    if (this.pieces !== null || index !== this.texts.length) throw new Error(`group ${index} starts out of turn`);
    this.pieces = [];
  }

  write(bytes: Uint8Array): void {
    if (this.pieces === null) throw new Error("text outside a group");
    this.pieces.push(bytes.slice());
  }

  groupEnd(index: number, envelope: ScannedGroup): void {
    if (this.pieces === null || index !== this.texts.length) throw new Error(`group ${index} ends out of turn`);
    const length = this.pieces.reduce((sum, piece) => sum + piece.length, 0);
    if (length !== envelope.bytes) throw new Error(`${length} bytes came, the envelope says ${envelope.bytes}`);
    this.texts.push(this.pieces.map(decodePiece).join(""));
    this.envelopes.push(envelope);
    this.pieces = null;
  }
}

/** Latin-1, so that characters cut apart stay what they were. */
function decodePiece(bytes: Uint8Array): string {
  let text = "";
  for (const byte of bytes) text += String.fromCharCode(byte);
  return text;
}

/** A group's collected text as characters. */
export function characters(latin1: string): string {
  return decode(Uint8Array.from(latin1, (character) => character.charCodeAt(0)));
}
