import type { SmallGroup } from "../../durable-objects/payload-shard/durable-object.ts";
import type { UploadPiece } from "../../durable-objects/payload-shard/uploads.ts";
import type { Verdict } from "../../durable-objects/payloads.ts";
import type { ApiError } from "../wire/api-error.ts";

/** A shard, as a submission needs it. */
export type ShardStub = DurableObjectStub<import("../../durable-objects/payload-shard/durable-object.ts").PayloadShard>;

/**
 * Where the pieces of one request go: to the shard in one call at the end, or, once `send` was called or where a group has
 * several rows, as an upload.
 */
export class Destination {
  readonly #shard: ShardStub;
  readonly #full: () => ApiError;
  #upload: Awaited<ReturnType<ShardStub["openUpload"]>> | null = null;

  /** `full`: what is thrown when the shard's disk holds as much as it may. */
  constructor(shard: ShardStub, full: () => ApiError) {
    this.#shard = shard;
    this.#full = full;
  }

  async send(pieces: readonly UploadPiece[]): Promise<void> {
    this.#upload ??= await this.#shard.openUpload();
    if (this.#upload === null) throw this.#full();
    await this.#upload.append(pieces);
  }

  /** `key`: what the contents are called, which shows only when all of them have come; null to leave keys as they are. */
  async finish(pieces: readonly UploadPiece[], key: string | null): Promise<readonly Verdict[]> {
    const groups = this.#upload === null ? smallGroups(pieces) : null;
    if (groups !== null) return this.#shard.submit(key === null ? groups : groups.map((group) => ({ ...group, key })));
    await this.send(pieces);
    const verdicts = await this.#upload?.commit(key);
    this.close();
    return verdicts ?? [];
  }

  /** An upload that was not committed is given up. */
  close(): void {
    this.#upload?.[Symbol.dispose]();
    this.#upload = null;
  }
}

/** The groups of these pieces, or null if one has more than one row. */
function smallGroups(pieces: readonly UploadPiece[]): SmallGroup[] | null {
  const groups: SmallGroup[] = [];
  let last: Extract<UploadPiece, { kind: "row" }> | null = null;
  for (const piece of pieces) {
    if (piece.kind === "row") {
      if (last !== null) return null;
      last = piece;
    } else if (last !== null) {
      groups.push({ ...piece.envelope, row: last.row, bytes: last.textLength });
      last = null;
    }
  }
  return groups;
}
