import type { Candidates } from "./candidates.ts";
import type { OpenBatch } from "./open-batch.ts";
import type { QueuedGroup } from "./queue-index.ts";

/**
 * Fills a batch greedily: goes through the candidates in their order and picks each that some completion of the picks
 * contains. The batch must be completable.
 *
 * Instead of one feasibility check a candidate, it reads ahead as far as there is room and searches for the longest
 * prefix that can be completed (a prefix of a completable prefix is completable). The candidate after it is refused, and
 * its class with it (see OpenBatch). So the checks are at most logarithmic in the batch size for each class that is refused.
 */
export function fill(batch: OpenBatch, candidates: Candidates): QueuedGroup[] {
  const picks: QueuedGroup[] = [];
  for (;;) {
    const { ahead, refused } = readAhead(batch, candidates);
    if (batch.isComplete()) return [...picks, ...ahead];
    const accepted = longestCompletablePrefix(batch, ahead);
    if (refused !== undefined) candidates.giveBack(refused);
    for (const group of ahead.slice(accepted).reverse()) candidates.giveBack(group);
    picks.push(...ahead.slice(0, accepted));
    batch.settle();
    const next = ahead[accepted] ?? refused;
    if (next === undefined) throw new Error(`a completable batch ran out of groups, ${batch.capacity} sequences short`);
    batch.ruleOut(next);
  }
}

/** Takes candidates until there is no room for one (`refused`, not taken) or none is needed or left. */
function readAhead(
  batch: OpenBatch,
  candidates: Candidates,
): { ahead: QueuedGroup[]; refused: QueuedGroup | undefined } {
  const ahead: QueuedGroup[] = [];
  while (batch.capacity > 0) {
    const group = candidates.next();
    if (group === undefined) break;
    if (!batch.hasRoomFor(group)) return { ahead, refused: group };
    batch.take(group);
    ahead.push(group);
  }
  return { ahead, refused: undefined };
}

/**
 * Called with all of `ahead` taken, returns with the longest prefix taken that can be completed, and its length. The empty
 * prefix can. Gallops from the long end: what fails, in most queues, is the fit of the last few groups.
 */
function longestCompletablePrefix(batch: OpenBatch, ahead: readonly QueuedGroup[]): number {
  let taken = ahead.length;
  const keep = (length: number): void => {
    for (const group of ahead.slice(length, taken)) batch.putBack(group);
    for (const group of ahead.slice(taken, length)) batch.take(group);
    taken = length;
  };
  const completableWith = (length: number): boolean => {
    keep(length);
    return batch.isCompletable();
  };
  let completable = ahead.length;
  let failing = ahead.length + 1;
  for (let step = 1; completable > 0 && !completableWith(completable); step *= 2) {
    failing = completable;
    completable = Math.max(0, completable - step);
  }
  while (failing - completable > 1) {
    const middle = (completable + failing) >>> 1;
    if (completableWith(middle)) completable = middle;
    else failing = middle;
  }
  keep(completable);
  return completable;
}
