import type { Answer, Delivery, History, SentGroup, ServedBatch, Submission } from "./history.ts";

/** A check, how many things it looked at, and what is wrong with which. */
export interface Finding {
  readonly check: string;
  readonly checked: number;
  readonly faults: readonly string[];
}

export interface Sent {
  readonly group: SentGroup;
  readonly submission: Submission;
}

/** A history, looked up in the ways the checks need. */
export interface Evidence {
  readonly history: History;
  /** Groups by id. */
  readonly sent: ReadonlyMap<string, Sent>;
  /** Batches by id, as they were delivered first (whole, else in slices), in the order of their ids. */
  readonly batches: ReadonlyMap<number, ServedBatch>;
  /** Batches that a trainer was told are acknowledged. */
  readonly acknowledged: ReadonlySet<number>;
}

export function evidence(history: History): Evidence {
  const sent = new Map<string, Sent>();
  for (const submission of history.submissions)
    for (const group of submission.groups) sent.set(group.id, { group, submission });
  const batches = new Map<number, ServedBatch>();
  const deliveries = history.deliveries.toSorted((a, b) => a.batch - b.batch);
  for (const [batch, served] of Map.groupBy(deliveries, (delivery) => delivery.batch)) {
    const first = served.find(({ slice }) => slice === null) ?? joined(served)[0];
    if (first !== undefined) batches.set(batch, first);
  }
  const acknowledged = new Set(history.acks.filter(({ status }) => status === 200).map(({ batch }) => batch));
  return { history, sent, batches, acknowledged };
}

/** The batches that a batch's slices make, one for each number of slices of which all have come. */
export function joined(deliveries: readonly Delivery[]): ServedBatch[] {
  const bySize = Map.groupBy(deliveries, ({ slice }) => slice?.of ?? 1);
  bySize.delete(1);
  return [...bySize].flatMap(([size, slices]): ServedBatch[] => {
    const ofRanks = Array.from({ length: size }, (_, rank) => slices.find(({ slice }) => slice?.rank === rank));
    const [first] = slices;
    if (first === undefined || ofRanks.includes(undefined)) return [];
    return [{ batch: first.batch, step: first.step, groups: ofRanks.flatMap((slice) => slice?.groups ?? []) }];
  });
}

/** What the server said in an answer of 200; null for a refusal. */
export function statusIn({ status, body }: Answer): string | null {
  if (status !== 200) return null;
  const read: unknown = JSON.parse(body);
  if (typeof read !== "object" || read === null || !("status" in read)) return "nothing";
  return String(read.status);
}

/** The server has promised to keep the groups. */
export function isTaken({ answers }: Submission): boolean {
  return answers.some((answer) => ["received", "buffered"].includes(statusIn(answer) ?? ""));
}

/** The server has said that it doesn't take the groups. */
export function isRefused(submission: Submission): boolean {
  return submission.answers.length > 0 && submission.answers.every(({ status }) => status !== 200);
}

/** Sequences a batch has of an environment; of all of them if none is named. */
export function sequencesIn({ sent }: Evidence, { groups }: ServedBatch, environment?: number): number {
  return groups.reduce((sum, id) => {
    const found = sent.get(id);
    const counts = environment === undefined || found?.submission.environment === environment;
    return sum + (counts ? (found?.group.sequences ?? 0) : 0);
  }, 0);
}
