import { AgeOrder } from "./age-order.ts";
import type { IsRuledOut, Probe } from "./candidates.ts";
import { DeficitOrder } from "./deficit-order.ts";
import { fill } from "./fill.ts";
import { earn, type MixingState, settleDeficits, sharesOf, type Weights } from "./mixing.ts";
import { OpenBatch } from "./open-batch.ts";
import type { EnvironmentId, GroupClass, QueuedGroup, QueueIndex } from "./queue-index.ts";

/** How candidates are ordered: by age, or by the weights of their environments and the deficits the last batch left. */
export type Order =
  | { readonly mixing: "fifo" }
  | { readonly mixing: "weighted"; readonly weights: Weights; readonly deficits: MixingState };

export interface AssembleOptions {
  /** B, in sequences, at least 1. */
  readonly batchSize: number;
  /** In sequences, by environment id, as floorsInSequences gives them. */
  readonly floors: ReadonlyMap<number, number>;
  readonly order: Order;
  readonly probe?: Probe;
}

export interface AssembledBatch {
  /** In the order in which they were picked; for "fifo" that is by age. */
  readonly groups: readonly QueuedGroup[];
  /** To be kept for the next batch; empty for "fifo". */
  readonly deficits: MixingState;
}

/**
 * Chooses a batch: groups that sum to exactly B (P1) and meet the floors (P5). Returns null only if no set of queued groups
 * does (P2). The index stays as it is: the caller removes the groups once the batch is durable.
 *
 * "fifo" gives the valid batch whose ages, in order, are lexicographically smallest; "weighted" prefers environments by
 * deficit (P6). Both are first in, first out within an environment and size (P3), and contain the oldest group that any
 * valid batch contains (P4).
 *
 * The cost depends on B, on the number of classes (environment, size) and on the floors, not on the number of queued
 * groups (P7). When no batch can be formed, only sizes and floors count.
 *
 * @throws RangeError if the batch size is not a positive integer.
 */
export function assemble(
  index: QueueIndex,
  { batchSize, floors, order, probe }: AssembleOptions,
): AssembledBatch | null {
  if (!Number.isSafeInteger(batchSize) || batchSize < 1)
    throw new RangeError(`batch size ${batchSize}, need at least 1`);
  if (index.sequences < batchSize) return null;
  const batch = new OpenBatch(index, batchSize, floors, probe);
  if (!batch.isCompletable()) return null;
  const isRuledOut: IsRuledOut = (environment, size) => batch.isRuledOut(environment, size);

  if (order.mixing === "fifo") {
    return { groups: fill(batch, new AgeOrder(allClasses(index), isRuledOut, probe)), deficits: new Map() };
  }
  const shares = sharesOf(index, batchSize, order.weights);
  const earned = earn(order.deficits, shares, batchSize);
  const groups = fill(batch, new DeficitOrder(index, earned, isRuledOut, probe));
  const picked = new Map<EnvironmentId, number>();
  for (const { environment, size } of groups) picked.set(environment, (picked.get(environment) ?? 0) + size);
  return { groups, deficits: settleDeficits(earned, shares, picked, batchSize) };
}

function* allClasses(index: QueueIndex): Generator<GroupClass> {
  for (const { classes } of index.environments.values()) yield* classes.values();
}
