import { shardName } from "../../durable-objects/names.ts";
import type { UploadPiece } from "../../durable-objects/payload-shard/uploads.ts";
import { type Envelope, ROW_BYTES, rowId, type Verdict } from "../../durable-objects/payloads.ts";
import type { ForkedGroup } from "../../durable-objects/run/fork.ts";
import type { Fork } from "../../durable-objects/run/fork-progress.ts";
import { ApiError } from "../wire/api-error.ts";
import { Destination } from "./destination.ts";
import { chooseShard } from "./shard-choice.ts";
import { splitBy } from "./split.ts";

const MIB = 1024 * 1024;

/** What one request copies. */
export interface CopyLimits {
  /** Calls of objects, after which it begins no other list. Cloudflare allows an invocation 1,000 to be safe. */
  readonly calls: number;
  /** The same of text. */
  readonly bytes: number;
  /** Text of the groups that are queued together; a larger group comes alone. */
  readonly listBytes: number;
}

const LIMITS: CopyLimits = { calls: 400, bytes: 128 * MIB, listBytes: 8 * MIB };

/** Text that is held at a time. */
const READ_BYTES = 8 * MIB;

/** A row to copy. */
interface Row {
  readonly group: ForkedGroup;
  readonly number: number;
  readonly textLength: number;
}

/**
 * Copies groups of the run that is forked, in order, list by list, row by row as they are stored; as many as one request
 * may. When all are there the run `target` begins.
 * @returns how far it has come.
 * @throws ApiError 503 when the disk is full, 409 when groups of the other run have gone elsewhere or the run was reset.
 */
export async function continueFork(env: Env, target: string, begun: Fork, limits = LIMITS): Promise<Fork> {
  const run = () => env.RUN.getByName(target);
  let fork = begun;
  let calls = 0;
  let bytes = 0;
  while (!fork.complete) {
    const page = await pageAfter(env, fork);
    calls += 1;
    if (page.length === 0) {
      if (!(await run().completeFork(fork.life))) throw isOver();
      return { ...fork, complete: true };
    }
    for (const list of splitBy(page, limits.listBytes, (group) => group.bytes)) {
      if (calls >= limits.calls || bytes >= limits.bytes) return fork;
      const copied = await copyList(env, target, fork, list);
      calls += copied.calls;
      bytes += list.reduce((sum, group) => sum + group.bytes, 0);
      if (copied.isRepeated) {
        // Another request copies as well, or a call before this one was cut off when the groups were there already.
        const now = await run().fork();
        if (now?.life !== fork.life) throw isOver();
        fork = now;
        break;
      }
      const { batch, place } = list.at(-1) ?? fork.at;
      fork = { ...fork, at: { batch, place }, groups: fork.groups + list.length };
    }
  }
  return fork;
}

async function pageAfter(env: Env, { source, origin, at }: Fork): Promise<readonly ForkedGroup[]> {
  const page = await env.RUN.getByName(source).forkPage(origin, at);
  if (page.status === "page") return page.groups;
  throw new ApiError(
    409,
    `the run ${source} has formed a batch, let one go or been reset since this fork began: GET /reset_data of this run, and fork again while the other's trainer stands still`,
  );
}

/** Queues copies of some groups, all or none. */
async function copyList(
  env: Env,
  target: string,
  fork: Fork,
  list: readonly ForkedGroup[],
): Promise<{ calls: number; isRepeated: boolean }> {
  const number = chooseShard(fork.origin.registration.payload_shards, Date.now());
  const shard = env.PAYLOAD_SHARD.getByName(shardName(target, number));
  const destination = new Destination(shard, () => diskFull(fork));
  try {
    const windows = [...splitBy(list.flatMap(rowsOf), READ_BYTES, (row) => row.textLength)];
    let calls = 2;
    let pieces: UploadPiece[] = [];
    for (const [index, window] of windows.entries()) {
      pieces = await readPieces(env, fork, window);
      calls += new Set(window.map(({ group }) => group.shard)).size;
      if (index === windows.length - 1) break;
      await destination.send(pieces);
      calls += 1;
    }
    return { calls, isRepeated: judge(await destination.finish(pieces, null), fork) };
  } finally {
    destination.close();
  }
}

function rowsOf(group: ForkedGroup): Row[] {
  return Array.from({ length: group.rows }, (_, number) => {
    return { group, number, textLength: Math.min(ROW_BYTES, group.bytes - number * ROW_BYTES) };
  });
}

/** Rows as they are stored, with the ends of their groups. */
async function readPieces(env: Env, fork: Fork, rows: readonly Row[]): Promise<UploadPiece[]> {
  const byShard = Map.groupBy(rows, ({ group }) => group.shard);
  const stored = new Map<Row, Uint8Array>();
  const read = async (shard: number, wanted: readonly Row[]) => {
    const ids = wanted.map(({ group, number }) => rowId(group.payload, number));
    const bytes = await env.PAYLOAD_SHARD.getByName(shardName(fork.source, shard)).read(ids);
    for (const [index, row] of wanted.entries()) stored.set(row, bytes[index] ?? new Uint8Array());
  };
  try {
    await Promise.all([...byShard].map(([shard, wanted]) => read(shard, wanted)));
  } catch (error) {
    // Where payloads are gone, this says why.
    await pageAfter(env, fork);
    throw error;
  }
  return rows.flatMap((row): UploadPiece[] => {
    const { group, number, textLength } = row;
    const piece = { kind: "row", row: stored.get(row) ?? new Uint8Array(), textLength } as const;
    return number < group.rows - 1 ? [piece] : [piece, { kind: "end", envelope: envelopeOf(group, fork.life) }];
  });
}

/** A queue knows no more of its groups than this: scores and lengths were judged when they came. */
function envelopeOf({ environment, sequences, policyVersion, batch, place }: ForkedGroup, life: number): Envelope {
  return {
    ...{ environment, sequences, policyVersion, copied: { life, batch, place } },
    ...{ tokens: 0, longest: 0, scores: { mean: 0, min: 0, max: 0 }, lease: null, key: null },
  };
}

/** Whether the groups were there before. */
function judge([verdict]: readonly Verdict[], fork: Fork): boolean {
  if (verdict?.status === "received") return verdict.repeated === true;
  if (verdict?.status === "disk_full") throw diskFull(fork);
  if (verdict?.status === "fork_is_over") throw isOver();
  throw new Error(`copies for a fork were not taken: ${verdict?.status ?? "no verdict"}`);
}

function diskFull({ groups, origin }: Fork): ApiError {
  const detail = `the disk of the run's storage holds as much as it may, and ${groups} of ${origin.groups} groups are copied: raise DISK_LIMIT_MIB and call again, which goes on; or give up with GET /reset_data`;
  return new ApiError(503, detail, { "retry-after": "30" });
}

function isOver(): ApiError {
  return new ApiError(409, "this run was reset while it was being forked: call again to begin anew");
}
