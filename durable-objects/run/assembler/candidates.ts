import type { EnvironmentId, QueuedGroup } from "./queue-index.ts";

/** The queued groups in the order in which a batch considers them. */
export interface Candidates {
  /** The next group, on the assumption that all that were read and not given back are in the batch. */
  next(): QueuedGroup | undefined;
  /** Takes back the group read last. */
  giveBack(group: QueuedGroup): void;
}

/** Whether all groups of that environment and size are ruled out of the batch being filled. */
export type IsRuledOut = (environment: EnvironmentId, size: number) => boolean;

/** Counts of the work done, to show that it does not depend on the queue's length (P7). */
export interface Probe {
  /** Subset sums computed. */
  feasibilityChecks: number;
  /** Groups read from the queue, each time they are read. */
  groupsRead: number;
}
