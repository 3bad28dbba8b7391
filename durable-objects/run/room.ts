import type { CommittedGroup, Verdict } from "../payloads.ts";
import { explain } from "./assembler/index.ts";
import type { Environments } from "./environments.ts";
import type { Queue } from "./queue.ts";
import { DEFAULT_QUEUE_BYTES, DEFAULT_QUEUE_SEQUENCES } from "./registration.ts";
import type { RunState } from "./state.ts";

export interface RoomParts {
  readonly state: RunState;
  readonly queue: Queue;
  readonly environments: Environments;
}

const UNREGISTERED = { max_queue_sequences: DEFAULT_QUEUE_SEQUENCES, max_queue_bytes: DEFAULT_QUEUE_BYTES };

/** A full queue of which no batch can be formed holds this many times what it may, before it takes nothing at all. */
const UNBLOCKING_FACTOR = 2;

/** Why the queue has no room for a request that came without a lease, or null. Before a trainer registers the defaults hold. */
export function overflow(parts: RoomParts, groups: readonly CommittedGroup[], now: number): Verdict | null {
  const { state, queue } = parts;
  const { max_queue_sequences, max_queue_bytes } = state.registration ?? UNREGISTERED;
  const sequences = queue.index.sequences + queue.allBuffered + sum(groups.map((group) => group.sequences));
  const bytes = queue.bytes + sum(groups.map((group) => group.bytes));
  const isOver = (factor: number) => sequences > factor * max_queue_sequences || bytes > factor * max_queue_bytes;
  if (!isOver(1) || (!isOver(UNBLOCKING_FACTOR) && mayUnblock(parts, groups, now))) return null;
  const over = [
    ...(sequences > max_queue_sequences ? [`${sequences} sequences of at most ${max_queue_sequences}`] : []),
    ...(bytes > max_queue_bytes ? [`${bytes} bytes of at most ${max_queue_bytes}`] : []),
  ];
  return { status: "queue_full", message: `with this request the run would hold ${over.join(" and ")}` };
}

/**
 * Whether no batch can be formed of what is queued, and these groups may change that: less than a batch is queued of their
 * environment and size. Else a full queue could wait for ever for the one thing it refuses (P2): an environment's floor, or a
 * size with which the others add up.
 */
function mayUnblock(
  { state, queue, environments }: RoomParts,
  groups: readonly CommittedGroup[],
  now: number,
): boolean {
  const batchSize = state.registration?.batch_size;
  if (batchSize === undefined) return false;
  const isScarce = groups.every(({ environment, sequences }) => {
    const queued = queue.index.environments.get(environment)?.classes.get(sequences)?.ages.length ?? 0;
    return queued * sequences < batchSize;
  });
  if (!isScarce) return false;
  return explain(queue.index, { batchSize, floors: environments.floors(batchSize, now) }).reason !== "ready";
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
