import { RpcTarget } from "cloudflare:workers";
import type { CommittedGroup, Envelope, Verdict } from "../payloads.ts";

/** A part of an upload: a stored row of the current group with the length of its text, or the group's end. */
export type UploadPiece =
  | { readonly kind: "row"; readonly row: Uint8Array; readonly textLength: number }
  | { readonly kind: "end"; readonly envelope: Envelope };

/** What an upload needs of its shard. */
export interface UploadStore {
  /** A payload number, noted so that its rows can be found if nobody commits them. */
  begin(): number;
  writeRow(payload: number, row: number, bytes: Uint8Array): void;
  commit(groups: readonly CommittedGroup[]): Promise<readonly Verdict[]>;
  /** Deletes payloads that were begun and will not be committed. */
  abandon(payloads: readonly number[]): void;
}

/**
 * The way in for a request that is larger than one row: its groups come row by row, so nobody holds a whole one. Until
 * `commit` nothing counts; when the caller goes away first (its stub is disposed), the rows are deleted.
 */
export class Upload extends RpcTarget {
  readonly #store: UploadStore;
  readonly #groups: CommittedGroup[] = [];
  readonly #payloads: number[] = [];
  #current: { payload: number; rows: number; bytes: number } | null = null;
  #settled = false;

  constructor(store: UploadStore) {
    super();
    this.#store = store;
  }

  /** The next rows and group ends, in order. The caller bounds their sum. */
  append(pieces: readonly UploadPiece[]): void {
    this.#assertOpen();
    for (const piece of pieces) {
      if (piece.kind === "row") this.#writeRow(piece.row, piece.textLength);
      else this.#endGroup(piece.envelope);
    }
  }

  /** Queues all groups of the upload, or none. A `key` replaces the groups' own. */
  async commit(key: string | null = null): Promise<readonly Verdict[]> {
    this.#assertOpen();
    if (this.#current !== null) throw new Error("an upload is committed in the middle of a group");
    this.#settled = true;
    return this.#store.commit(key === null ? this.#groups : this.#groups.map((group) => ({ ...group, key })));
  }

  [Symbol.dispose](): void {
    if (this.#settled) return;
    this.#settled = true;
    this.#store.abandon(this.#payloads);
  }

  #writeRow(row: Uint8Array, textLength: number): void {
    if (this.#current === null) {
      const payload = this.#store.begin();
      this.#payloads.push(payload);
      this.#current = { payload, rows: 0, bytes: 0 };
    }
    this.#store.writeRow(this.#current.payload, this.#current.rows, row);
    this.#current.rows += 1;
    this.#current.bytes += textLength;
  }

  #endGroup(envelope: Envelope): void {
    if (this.#current === null) throw new Error("a group ends before any of its bytes came");
    this.#groups.push({ ...envelope, ...this.#current });
    this.#current = null;
  }

  #assertOpen(): void {
    if (this.#settled) throw new Error("the upload is over");
  }
}
