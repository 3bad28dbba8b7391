import type { UploadPiece } from "../../durable-objects/payload-shard/uploads.ts";
import { type Envelope, ROW_BYTES } from "../../durable-objects/payloads.ts";
import { encodeRow } from "../wire/row-codec.ts";
import type { GroupSink, ScannedGroup } from "../wire/scanner/index.ts";
import type { RequestOrigin } from "./request-origin.ts";

/** The first row of a body of unknown length; doubled as needed. */
const FIRST_CAPACITY = 16 * 1024;

/**
 * Collects the text of scanned groups in rows of ROW_BYTES, until someone takes them. Holds one row that is being filled
 * and the ones not taken yet.
 */
export class Spool implements GroupSink {
  #pieces: UploadPiece[] = [];
  #row: Uint8Array;
  readonly #lease: number | null;
  readonly #key: string | null;
  #length = 0;
  #bytes = 0;

  /**
   * `sizeHint` is the expected length of the body: with a good one nothing is copied twice. `lease` and `key` go with
   * every group.
   */
  constructor(sizeHint: number, { lease, key }: RequestOrigin) {
    this.#lease = lease;
    this.#key = key;
    this.#row = new Uint8Array(Math.min(ROW_BYTES, Math.max(FIRST_CAPACITY, sizeHint)));
  }

  /** Bytes of text held. */
  get bytes(): number {
    return this.#bytes;
  }

  groupStart(): void {
    this.#length = 0;
  }

  write(bytes: Uint8Array): void {
    let rest = bytes;
    while (rest.length > 0) {
      if (this.#length === ROW_BYTES) this.#endRow();
      const part = rest.subarray(0, ROW_BYTES - this.#length);
      this.#reserve(this.#length + part.length);
      this.#row.set(part, this.#length);
      this.#length += part.length;
      this.#bytes += part.length;
      rest = rest.subarray(part.length);
    }
  }

  groupEnd(_index: number, group: ScannedGroup): void {
    this.#endRow();
    const { bytes: _, ...known } = group;
    const envelope: Envelope = { ...known, lease: this.#lease, key: this.#key };
    this.#pieces.push({ kind: "end", envelope });
  }

  /** Takes all that is complete: rows and group ends, in order. */
  take(): UploadPiece[] {
    const pieces = this.#pieces;
    this.#pieces = [];
    this.#bytes = this.#length;
    return pieces;
  }

  #endRow(): void {
    const row = encodeRow(this.#row.subarray(0, this.#length));
    this.#pieces.push({ kind: "row", row, textLength: this.#length });
    this.#length = 0;
  }

  #reserve(length: number): void {
    if (length <= this.#row.length) return;
    const larger = new Uint8Array(Math.min(ROW_BYTES, Math.max(length, this.#row.length * 2)));
    larger.set(this.#row.subarray(0, this.#length));
    this.#row = larger;
  }
}
