import { decodeLiteral } from "./bytes.ts";
import { ANY, type Shape } from "./shapes.ts";
import type { Location } from "./types.ts";

/** Deepest nesting of lists and objects. Scored groups need 5 levels, chat messages with tool calls about 10. */
export const MAX_DEPTH = 64;
/** Of each key so many bytes are kept, enough to spell every known field in \uXXXX escapes. */
const KEY_BYTES = 128;
/** Keys in error locations are cut at this length. */
const SHOWN_KEY = 64;

/** Where in the body the scanner is: the open lists and objects, with the current position or key in each. */
export class Path {
  /** How many lists and objects are open. */
  depth = 0;
  /** What the innermost one has to be. */
  shape: Shape = ANY;
  /** Whether the innermost one is a list. */
  inList = false;
  // Plain arrays that grow with the depth: for a 7 KB body, allocating typed ones would cost as much as scanning it.
  private readonly shapes: Shape[] = [ANY];
  private readonly lists: boolean[] = [false];
  private readonly indexes: number[] = [0];
  /** The current keys of all open objects one after the other; the one of depth d ends at keyEnds[d]. */
  private keys = new Uint8Array(2 * KEY_BYTES);
  private readonly keyEnds: number[] = [0];

  /** Whether a further list or object may be opened. */
  get full(): boolean {
    return this.depth === MAX_DEPTH;
  }

  open(shape: Shape, list: boolean): void {
    const depth = ++this.depth;
    this.shapes[depth] = shape;
    this.lists[depth] = list;
    this.indexes[depth] = 0;
    this.keyEnds[depth] = this.keyEnds[depth - 1] ?? 0;
    this.shape = shape;
    this.inList = list;
  }

  close(): void {
    const depth = --this.depth;
    this.shape = this.shapes[depth] ?? ANY;
    this.inList = this.lists[depth] ?? false;
  }

  /** The position of the innermost list's current item. */
  get index(): number {
    return this.indexes[this.depth] ?? 0;
  }

  advance(items: number): void {
    this.indexes[this.depth] = this.index + items;
  }

  startKey(): void {
    this.keyEnds[this.depth] = this.keyStart;
    const room = this.keyStart + KEY_BYTES;
    if (room > this.keys.length) {
      const larger = new Uint8Array(2 * room);
      larger.set(this.keys);
      this.keys = larger;
    }
  }

  appendToKey(bytes: Uint8Array, from: number, to: number): void {
    let at = this.keyEnds[this.depth] ?? 0;
    const stop = Math.min(this.keyStart + KEY_BYTES, at + to - from);
    for (let source = from; at < stop; source++) this.keys[at++] = bytes[source] ?? 0;
    this.keyEnds[this.depth] = at;
  }

  /** Looks the innermost object's current key up; -1 for an unknown one. */
  findKey(names: { find(literal: Uint8Array, from: number, to: number): number }): number {
    return names.find(this.keys, this.keyStart, this.keyEnds[this.depth] ?? 0);
  }

  /** The way to the current value inside the outermost `depth` lists and objects. */
  location(depth = this.depth): Location {
    const location: Location = ["body"];
    for (let level = 1; level <= depth; level++) {
      if (this.lists[level]) location.push(this.indexes[level] ?? 0);
      else location.push(this.key(level));
    }
    return location;
  }

  private get keyStart(): number {
    return this.keyEnds[this.depth - 1] ?? 0;
  }

  private key(level: number): string {
    const key = decodeLiteral(this.keys.subarray(this.keyEnds[level - 1] ?? 0, this.keyEnds[level] ?? 0));
    return key.length > SHOWN_KEY ? `${key.slice(0, SHOWN_KEY)}…` : key;
  }
}
