/** Series of outcomes a run shows. A scrape of more would be a load for every side, and environments name their reasons. */
export const MAX_OUTCOME_SERIES = 1_000;

/** Stands for the environments whose outcomes are not shown one by one; no environment can be called so. */
const OTHERS = "(others)";

export interface OutcomeCount {
  /** Its name; "" for groups that came without an environment, or with one that nobody has. */
  readonly environment: string;
  readonly outcome: string;
  /** "" for an outcome that needs none, and for {@link OTHERS}. */
  readonly reason: string;
  readonly count: number;
}

export interface OutcomeCounts {
  readonly series: readonly OutcomeCount[];
  /** How many more there are, whose counts stand together under `(others)`. */
  readonly cut: number;
}

/**
 * How rollouts ended, as flat series: those of the environments that registered first, {@link MAX_OUTCOME_SERIES} at most,
 * and what is left over summed by outcome, so that totals are right.
 * `counts` is {outcome: {reason: count}} by environment; `nameOf` knows an environment's name, or null.
 */
export function outcomeCounts(
  counts: ReadonlyMap<number, Readonly<Record<string, Readonly<Record<string, number>>>>>,
  nameOf: (environment: number) => string | null,
  limit = MAX_OUTCOME_SERIES,
): OutcomeCounts {
  const shown = new Map<string, OutcomeCount>();
  const others = new Map<string, number>();
  let cut = 0;
  for (const id of [...counts.keys()].toSorted((a, b) => a - b)) {
    const environment = nameOf(id) ?? "";
    for (const [outcome, reasons] of Object.entries(counts.get(id) ?? {})) {
      for (const [reason, count] of Object.entries(reasons)) {
        const key = JSON.stringify([environment, outcome, reason]);
        const same = shown.get(key);
        if (same !== undefined || shown.size < limit) {
          shown.set(key, { environment, outcome, reason, count: count + (same?.count ?? 0) });
        } else {
          cut += 1;
          others.set(outcome, (others.get(outcome) ?? 0) + count);
        }
      }
    }
  }
  const series = [...shown.values()];
  for (const [outcome, count] of others) series.push({ environment: OTHERS, outcome, reason: "", count });
  return { series, cut };
}
