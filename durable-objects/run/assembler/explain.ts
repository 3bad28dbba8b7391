import { demandOf } from "./demand.ts";
import { largestSum, type UnmetFloor } from "./feasibility.ts";
import type { QueueIndex } from "./queue-index.ts";

export interface FloorStatus {
  readonly environment: number;
  readonly floor_sequences: number;
  readonly queued_sequences: number;
}

/** Why no batch can be formed, as it goes on the wire; all in sequences unless named otherwise. */
export type Readiness =
  | { readonly reason: "ready" }
  | {
      readonly reason: "too_few_sequences";
      readonly queued_sequences: number;
      readonly batch_size: number;
      readonly missing_sequences: number;
    }
  | {
      readonly reason: "floor_unmet";
      /** Only those whose environment has fewer sequences queued than its floor. */
      readonly floors: readonly (FloorStatus & { readonly missing_sequences: number })[];
    }
  | {
      readonly reason: "sizes_do_not_add_up";
      readonly batch_size: number;
      /** All that are queued, by ascending size; those above the batch size can never be used. */
      readonly sizes: readonly { readonly size: number; readonly groups: number }[];
      /** The largest sum below the batch size that meets the floors below; null if none does. */
      readonly largest_sum: number | null;
      /** Empty unless the sizes would add up without the floors, although each is met alone: then all floors. */
      readonly floors: readonly FloorStatus[];
    };

/**
 * Says whether a batch can be formed and, if not, what is in its way; "ready" exactly when assemble gives a batch. The first
 * that applies of: too few sequences, a floor above what its environment has queued, sizes. Costs two feasibility checks (P7).
 */
export function explain(
  index: QueueIndex,
  { batchSize, floors }: { readonly batchSize: number; readonly floors: ReadonlyMap<number, number> },
): Readiness {
  if (index.sequences < batchSize) {
    return {
      reason: "too_few_sequences",
      queued_sequences: index.sequences,
      batch_size: batchSize,
      missing_sequences: batchSize - index.sequences,
    };
  }
  const statuses = floorStatuses(index, floors);
  const unmet = statuses.filter(({ floor_sequences, queued_sequences }) => queued_sequences < floor_sequences);
  if (unmet.length > 0) {
    return {
      reason: "floor_unmet",
      floors: unmet.map((status) => ({
        ...status,
        missing_sequences: status.floor_sequences - status.queued_sequences,
      })),
    };
  }
  const withFloors = largest(index, batchSize, floors);
  if (withFloors === batchSize) return { reason: "ready" };
  const withoutFloors = statuses.length > 0 ? largest(index, batchSize, new Map()) : withFloors;
  const floorsAreTheCause = withoutFloors === batchSize;
  return {
    reason: "sizes_do_not_add_up",
    batch_size: batchSize,
    sizes: [...index.groupsBySize].sort(([a], [b]) => a - b).map(([size, groups]) => ({ size, groups })),
    largest_sum: floorsAreTheCause ? withFloors : withoutFloors,
    floors: floorsAreTheCause ? statuses : [],
  };
}

function floorStatuses(index: QueueIndex, floors: ReadonlyMap<number, number>): FloorStatus[] {
  const statuses: FloorStatus[] = [];
  for (const [environment, floor] of floors) {
    if (floor <= 0) continue;
    const queued = index.environments.get(environment)?.sequences ?? 0;
    statuses.push({ environment, floor_sequences: floor, queued_sequences: queued });
  }
  return statuses;
}

function largest(index: QueueIndex, batchSize: number, floors: ReadonlyMap<number, number>): number | null {
  const { pool, floored } = demandOf(index, batchSize, floors);
  const unmet: UnmetFloor[] = [...floored.values()];
  return largestSum(batchSize, [pool], unmet);
}
