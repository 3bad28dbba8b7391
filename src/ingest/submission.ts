import type { SmallGroup } from "../../durable-objects/payload-shard/durable-object.ts";
import type { UploadPiece } from "../../durable-objects/payload-shard/uploads.ts";
import { ROW_BYTES, type Verdict } from "../../durable-objects/payloads.ts";
import { unprocessable } from "../wire/api-error.ts";
import { bodyChunks } from "../wire/body.ts";
import { GroupScanner } from "../wire/scanner/index.ts";
import { Spool } from "./spool.ts";

/** A shard, as a submission needs it. */
export type ShardStub = DurableObjectStub<import("../../durable-objects/payload-shard/durable-object.ts").PayloadShard>;

/** Text held before it is sent on. A body below this goes to the shard in one call, a larger one bit by bit. */
const HOLD_BYTES = ROW_BYTES;

/** Decoded bodies are a few times larger than gzipped ones. */
const GZIP_RATIO_HINT = 4;

/**
 * Reads the scored groups of a request, validates them on the way, and queues all of them or none. Holds about two rows
 * of a body at a time, whatever its length.
 * `lease` is the rollout lease they were generated under.
 * @returns a verdict a group, once all is durable.
 * @throws ApiError 422 in FastAPI's shape; those of bodyChunks.
 */
export async function submitBody(
  request: Request,
  mode: "group" | "list",
  bodyLimit: number,
  shard: ShardStub,
  lease: number | null,
): Promise<readonly Verdict[]> {
  const spool = new Spool(sizeHint(request), lease);
  const scanner = new GroupScanner(mode, spool);
  const destination = new Destination(shard);
  try {
    for await (const chunk of bodyChunks(request, bodyLimit)) {
      scanner.push(chunk);
      if (spool.bytes > HOLD_BYTES && !scanner.failed) await destination.send(spool.take());
    }
    const result = scanner.end();
    if (!result.ok) throw unprocessable(result.errors);
    return result.groups === 0 ? [] : await destination.finish(spool.take());
  } finally {
    destination.close();
  }
}

function sizeHint(request: Request): number {
  const length = Number(request.headers.get("content-length") ?? 0);
  const isGzip = request.headers.has("content-encoding");
  return (Number.isFinite(length) ? length : 0) * (isGzip ? GZIP_RATIO_HINT : 1) + 512;
}

/** Where the pieces of one request go: to the shard in one call at the end, or, once `send` was called, as an upload. */
class Destination {
  readonly #shard: ShardStub;
  #upload: Awaited<ReturnType<ShardStub["openUpload"]>> | null = null;

  constructor(shard: ShardStub) {
    this.#shard = shard;
  }

  async send(pieces: readonly UploadPiece[]): Promise<void> {
    this.#upload ??= await this.#shard.openUpload();
    await this.#upload.append(pieces);
  }

  async finish(pieces: readonly UploadPiece[]): Promise<readonly Verdict[]> {
    const groups = this.#upload === null ? smallGroups(pieces) : null;
    if (groups !== null) return this.#shard.submit(groups);
    await this.send(pieces);
    return (await this.#upload?.commit()) ?? [];
  }

  /** An upload that was not committed is given up. */
  close(): void {
    this.#upload?.[Symbol.dispose]();
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
