import type { History } from "./checker/history.ts";

/** How often what happened. */
export class Counts {
  readonly #counts = new Map<string, number>();

  add(what: string, times = 1): void {
    this.#counts.set(what, (this.#counts.get(what) ?? 0) + times);
  }

  all(): Record<string, number> {
    return Object.fromEntries([...this.#counts].toSorted(([a], [b]) => (a < b ? -1 : 1)));
  }
}

export function countHistory({ submissions, deliveries, acks, leases, environments }: History, counts: Counts): void {
  const batches = new Set(deliveries.map(({ batch }) => batch)).size;
  counts.add("groups", sum(submissions.map(({ groups }) => groups.length)));
  counts.add("groups_dropped", sum(environments.map(({ dropped }) => dropped)));
  counts.add("batches", batches);
  counts.add("batches_served_again", deliveries.length - batches);
  counts.add("acks", acks.length);
  counts.add("acks_refused", acks.filter(({ status }) => status === 409).length);
  for (const { outcome } of leases) counts.add(`leases_${outcome}`);
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, number) => total + number, 0);
}
