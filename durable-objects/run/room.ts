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

/** Age of a group that isn't queued. */
const NOT_QUEUED = Number.MAX_SAFE_INTEGER;

/** Why the queue has no room for a request that came without a lease, or null. Before a trainer registers the defaults hold. */
export function overflow(parts: RoomParts, groups: readonly CommittedGroup[], now: number): Verdict | null {
  const { state, queue } = parts;
  const { max_queue_sequences, max_queue_bytes } = state.registration ?? UNREGISTERED;
  const sequences = queue.index.sequences + queue.allBuffered + sum(groups.map((group) => group.sequences));
  const bytes = queue.bytes + sum(groups.map((group) => group.bytes));
  const over = [
    ...(sequences > max_queue_sequences ? [`${sequences} sequences of at most ${max_queue_sequences}`] : []),
    ...(bytes > max_queue_bytes ? [`${bytes} bytes of at most ${max_queue_bytes}`] : []),
  ];
  if (over.length === 0 || unblocks(parts, groups, now)) return null;
  return { status: "queue_full", message: `with this request the run would hold ${over.join(" and ")}` };
}

/**
 * Whether no batch can be formed of what is queued, and these groups are what is missing: else a full queue would wait for ever
 * for the one thing it refuses (P2). That is a batch's worth of sequences, where the bound on bytes is below it; an
 * environment's unmet floor; or a size with which the others add up to a batch.
 */
function unblocks(parts: RoomParts, groups: readonly CommittedGroup[], now: number): boolean {
  const { state, queue, environments } = parts;
  const batchSize = state.registration?.batch_size;
  // What no batch can hold is refused for that.
  if (batchSize === undefined || groups.some(({ sequences }) => sequences > batchSize)) return false;
  const limits = { batchSize, floors: environments.floors(batchSize, now) };
  const found = explain(queue.index, limits);
  switch (found.reason) {
    case "ready":
      return false;
    case "too_few_sequences":
      return true;
    case "floor_unmet":
      return groups.every(({ environment }) => found.floors.some((floor) => floor.environment === environment));
    case "sizes_do_not_add_up":
      return isReadyWith(queue, groups, limits) || isScarce(queue, groups, batchSize);
  }
}

function isReadyWith(
  { index }: Queue,
  groups: readonly CommittedGroup[],
  limits: Parameters<typeof explain>[1],
): boolean {
  const added = groups.map(({ environment, sequences: size }, place) => ({
    age: NOT_QUEUED - place,
    environment,
    size,
  }));
  for (const group of added) index.add(group);
  const { reason } = explain(index, limits);
  for (const { age, environment, size } of added) index.remove(age, environment, size);
  return reason === "ready";
}

/**
 * Whether of each of these groups' environments and sizes less than a batch is queued: more of those may be needed. Classes
 * are as many as environments and sizes, so this alone is bounded.
 */
function isScarce({ index }: Queue, groups: readonly CommittedGroup[], batchSize: number): boolean {
  return groups.every(({ environment, sequences }) => {
    const queued = index.environments.get(environment)?.classes.get(sequences)?.ages.length ?? 0;
    return queued * sequences < batchSize;
  });
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
