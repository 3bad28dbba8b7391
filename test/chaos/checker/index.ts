import * as batches from "./batches.ts";
import * as bounds from "./bounds.ts";
import { type Evidence, evidence, type Finding } from "./evidence.ts";
import type { History } from "./history.ts";
import * as records from "./records.ts";
import * as submissions from "./submissions.ts";

export type { Finding } from "./evidence.ts";

const CHECKS: readonly ((evidence: Evidence) => Finding)[] = [
  submissions.answered,
  submissions.sameAnswers,
  submissions.newOnce,
  submissions.nothingLost,
  submissions.nothingTwice,
  submissions.nothingStrange,
  submissions.filtersKept,
  batches.sameBatch,
  batches.slices,
  batches.contents,
  batches.everyStep,
  batches.exactSize,
  batches.firstAckOnce,
  batches.ackByHolder,
  batches.heldAgainstOthers,
  batches.everyBatchAcknowledged,
  batches.neverAgain,
  batches.rewound,
  bounds.admission,
  bounds.staleness,
  bounds.floors,
  bounds.shares,
  records.leasesEnd,
  records.itemsOnce,
  records.nothingLeftBehind,
];

/** Judges a campaign by its history alone. A check that found nothing to look at proves nothing, and so fails. */
export function judge(history: History): Finding[] {
  const found = evidence(history);
  return CHECKS.map((check) => {
    const finding = check(found);
    return finding.checked > 0 ? finding : { ...finding, faults: ["there was nothing to check"] };
  });
}
