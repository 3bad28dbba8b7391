/** Why the run takes no groups for now. */
export type FullReason = "queue_full" | "disk_full";

/** What happened within this time is told as the cause of what a person sees now. */
const LATELY_MS = 60_000;

interface Tally {
  readonly total: number;
  /** Without a pause longer than {@link LATELY_MS}. */
  readonly lately: number;
  readonly last: number;
}

/**
 * Groups that the run dropped, and requests that it refused as it is full: what keeps a trainer waiting though environments
 * send groups. In memory alone, so that a refusal writes nothing: it counts from when the object woke.
 */
export class Losses {
  readonly #refused = new Map<string, Tally>();
  readonly #dropped = new Map<string, Tally>();

  refused(reason: FullReason, now: number): void {
    count(this.#refused, reason, now);
  }

  dropped(reason: string, now: number): void {
    count(this.#dropped, reason, now);
  }

  /** Requests refused, by reason. */
  get refusals(): { readonly reason: string; readonly count: number }[] {
    return [...this.#refused].map(([reason, { total }]) => ({ reason, count: total }));
  }

  /** What was lost in the last minute, or null. */
  inWords(now: number): string | null {
    const dropped = lately(this.#dropped, now);
    const refused = lately(this.#refused, now);
    const words = [
      ...(dropped === "" ? [] : [`groups that came lately were dropped (${dropped})`]),
      ...(refused === "" ? [] : [`requests with groups were refused lately (${refused})`]),
    ];
    return words.length === 0 ? null : words.join(", and ");
  }
}

function count(tallies: Map<string, Tally>, reason: string, now: number): void {
  const before = tallies.get(reason) ?? { total: 0, lately: 0, last: now };
  const goesOn = now - before.last <= LATELY_MS;
  tallies.set(reason, { total: before.total + 1, lately: goesOn ? before.lately + 1 : 1, last: now });
}

function lately(tallies: ReadonlyMap<string, Tally>, now: number): string {
  return [...tallies]
    .filter(([, { last }]) => now - last <= LATELY_MS)
    .map(([reason, tally]) => `${reason}: ${tally.lately}`)
    .join(", ");
}
