import { createHash } from "node:crypto";
import type { SmallGroup } from "../../durable-objects/payload-shard/durable-object.ts";
import type { UploadPiece } from "../../durable-objects/payload-shard/uploads.ts";
import { ROW_BYTES, type Verdict } from "../../durable-objects/payloads.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { bodyChunks } from "../wire/body.ts";
import { GroupScanner } from "../wire/scanner/index.ts";
import type { RequestOrigin } from "./request-origin.ts";
import { Spool } from "./spool.ts";

/** A shard, as a submission needs it. */
export type ShardStub = DurableObjectStub<import("../../durable-objects/payload-shard/durable-object.ts").PayloadShard>;

/** Text held before it is sent on. A body below this goes to the shard in one call, a larger one bit by bit. */
const HOLD_BYTES = ROW_BYTES;

/** Decoded bodies are a few times larger than gzipped ones. */
const GZIP_RATIO_HINT = 4;

/** What helps against a body that is too large. */
const TOO_LARGE = "send fewer or smaller groups a request, or raise BODY_LIMIT_MIB";

export interface Submission {
  /** Decoded, in bytes. */
  readonly bodyLimit: number;
  readonly shard: ShardStub;
  readonly origin: RequestOrigin;
  /** Whether the request is told by its contents if it comes again. */
  readonly deduplicate: boolean;
}

/**
 * Reads the scored groups of a request, validates them on the way, and queues all of them or none. Holds about two rows
 * of a body at a time, whatever its length.
 * @returns a verdict a group, once all is durable.
 * @throws ApiError 422 in FastAPI's shape; those of bodyChunks.
 */
export async function submitBody(
  request: Request,
  mode: "group" | "list",
  { bodyLimit, shard, origin, deduplicate }: Submission,
): Promise<readonly Verdict[]> {
  const digest = deduplicate ? createHash("sha256") : null;
  const spool = new Spool(sizeHint(request), origin);
  const scanner = new GroupScanner(mode, spool);
  const destination = new Destination(shard);
  try {
    for await (const chunk of bodyChunks(request, { bytes: bodyLimit, remedy: TOO_LARGE })) {
      digest?.update(chunk);
      scanner.push(chunk);
      if (spool.bytes > HOLD_BYTES && !scanner.failed) await destination.send(spool.take());
    }
    const result = scanner.end();
    if (!result.ok) throw unprocessable(result.errors);
    if (result.groups === 0) return [];
    return await destination.finish(spool.take(), digest === null ? null : `c:${digest.digest("hex")}`);
  } finally {
    destination.close();
  }
}

function sizeHint(request: Request): number {
  const length = Number(request.headers.get("content-length") ?? 0);
  const isGzip = request.headers.has("content-encoding");
  return (Number.isFinite(length) ? length : 0) * (isGzip ? GZIP_RATIO_HINT : 1) + 512;
}

/** Deletes go on, so there will be room again as trainers take batches. */
export function diskFull(): ApiError {
  const detail = "the disk of the run's storage holds as much as it may: try again when trainers have taken batches";
  return new ApiError(503, detail, { "retry-after": "30" });
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
    if (this.#upload === null) throw diskFull();
    await this.#upload.append(pieces);
  }

  /** `key`: what the contents are called, which shows only when all of them have come; null to leave keys as they are. */
  async finish(pieces: readonly UploadPiece[], key: string | null): Promise<readonly Verdict[]> {
    const groups = this.#upload === null ? smallGroups(pieces) : null;
    if (groups !== null) return this.#shard.submit(key === null ? groups : groups.map((group) => ({ ...group, key })));
    await this.send(pieces);
    return (await this.#upload?.commit(key)) ?? [];
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
