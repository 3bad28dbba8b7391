import { ROW_BYTES, type Verdict } from "../../durable-objects/payloads.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { bodyChunks } from "../wire/body.ts";
import { GroupScanner } from "../wire/scanner/index.ts";
import { Contents } from "./contents.ts";
import { Destination, type ShardStub } from "./destination.ts";
import type { RequestOrigin } from "./request-origin.ts";
import { Spool } from "./spool.ts";

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
  /** Whether the run, as far as is known, tells requests by their contents, and how to ask it. */
  readonly deduplicate: boolean;
  askWhetherDeduplicate(): Promise<boolean>;
}

/**
 * Reads the scored groups of a request, validates them on the way, and queues all of them or none. Holds about two rows
 * of a body at a time, whatever its length, or three where it may have to be told by its contents.
 * @returns a verdict a group, once all is durable.
 * @throws ApiError 422 in FastAPI's shape; those of bodyChunks.
 */
export async function submitBody(
  request: Request,
  mode: "group" | "list",
  { bodyLimit, shard, origin, deduplicate, askWhetherDeduplicate }: Submission,
): Promise<readonly Verdict[]> {
  const contents = origin.lease === null && origin.key === null ? new Contents(deduplicate) : null;
  const spool = new Spool(sizeHint(request), origin);
  const scanner = new GroupScanner(mode, spool);
  const destination = new Destination(shard, diskFull);
  let isSent = false;
  try {
    for await (const chunk of bodyChunks(request, { bytes: bodyLimit, remedy: TOO_LARGE })) {
      contents?.push(chunk);
      scanner.push(chunk);
      if (scanner.failed) contents?.drop();
      // A body may be longer than what is stored of it: it may end in blanks.
      else if ((contents?.bytes ?? 0) > HOLD_BYTES) await contents?.settle(askWhetherDeduplicate);
      if (spool.bytes <= HOLD_BYTES || scanner.failed) continue;
      await contents?.settle(askWhetherDeduplicate);
      await destination.send(spool.take());
      isSent = true;
    }
    const result = scanner.end();
    if (!result.ok) throw unprocessable(result.errors);
    if (result.groups === 0) return [];
    const pieces = spool.take();
    const verdicts = await destination.finish(pieces, contents?.key ?? null);
    if (verdicts[0]?.status !== "contents_wanted" || contents === null) return verdicts;
    if (isSent) throw registeredMeanwhile();
    // Others will come: from now on this instance knows.
    await askWhetherDeduplicate();
    contents.demand();
    return await destination.finish(pieces, contents.key);
  } finally {
    destination.close();
  }
}

function sizeHint(request: Request): number {
  const length = Number(request.headers.get("content-length") ?? 0);
  const isGzip = request.headers.has("content-encoding");
  return (Number.isFinite(length) ? length : 0) * (isGzip ? GZIP_RATIO_HINT : 1) + 512;
}

/** The run didn't tell requests by their contents when this one's first part was sent on, and now it does. */
function registeredMeanwhile(): ApiError {
  const detail = "a trainer registered with deduplicate while this request was being read: send it again";
  return new ApiError(503, detail, { "retry-after": "1" });
}

/** Deletes go on, so there will be room again as trainers take batches. */
export function diskFull(): ApiError {
  const detail = "the disk of the run's storage holds as much as it may: try again when trainers have taken batches";
  return new ApiError(503, detail, { "retry-after": "30" });
}
