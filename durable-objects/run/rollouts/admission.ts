/** An environment that draws rollout leases, as admission sees it. */
export interface Claimant {
  readonly id: number;
  /** Sequences it has queued and leased. */
  readonly held: number;
  /** Sequences that are kept free for it, beyond which it takes what is left over. */
  readonly reserve: number;
}

/**
 * Who may lease how much. What others have in reserve and don't hold yet is not given away: else a run could fill with
 * groups of one environment while no batch can be formed without another's floor.
 */
export class Admission {
  readonly #limit: number;
  readonly #missing = new Map<number, number>();
  #allMissing = 0;
  #total: number;

  /**
   * `limit`: queued and leased sequences of the run never exceed this through leases. `total`: those there are now, groups
   * that came without a lease included.
   */
  constructor(claimants: Iterable<Claimant>, { limit, total }: { limit: number; total: number }) {
    this.#limit = limit;
    this.#total = total;
    for (const { id, held, reserve } of claimants) {
      const missing = Math.max(0, reserve - held);
      this.#missing.set(id, missing);
      this.#allMissing += missing;
    }
  }

  /** Sequences an environment may lease now. */
  room(environment: number): number {
    const free = Math.max(0, this.#limit - this.#total);
    const own = this.#missing.get(environment) ?? 0;
    return Math.max(Math.min(free, own), free - (this.#allMissing - own));
  }

  /** An environment leased that many sequences. */
  take(environment: number, sequences: number): void {
    const missing = this.#missing.get(environment) ?? 0;
    const less = Math.min(missing, sequences);
    this.#missing.set(environment, missing - less);
    this.#allMissing -= less;
    this.#total += sequences;
  }
}

export interface ReserveRequest {
  readonly id: number;
  /** Sequences of one lease. */
  readonly leaseSequences: number;
  readonly weight: number;
  /** Sequences of every batch; 0 for none. */
  readonly floor: number;
}

/**
 * Sequences to keep free, by environment: `batches` times its floor, in whole leases; with weighted mixing its share of the
 * limit, if that is more, so that what is generated follows the weights and not the environments' speed.
 */
export function reserves(
  environments: readonly ReserveRequest[],
  { batches, limit, weighted }: { batches: number; limit: number; weighted: boolean },
): Map<number, number> {
  const totalWeight = environments.reduce((sum, { weight }) => sum + Math.max(0, weight), 0);
  return new Map(
    environments.map(({ id, leaseSequences, weight, floor }) => {
      const forFloor = Math.ceil((floor * batches) / leaseSequences) * leaseSequences;
      if (!weighted || totalWeight === 0) return [id, forFloor];
      const share = (limit * Math.max(0, weight)) / totalWeight;
      // Rounded down, but one lease at least: an environment whose weight isn't 0 is never shut out.
      const leases = weight > 0 ? Math.max(1, Math.floor(share / leaseSequences)) : 0;
      return [id, Math.max(forFloor, leases * leaseSequences)];
    }),
  );
}

/** Who is served first: whoever holds least for its weight, then who has waited longest (their order). */
export function byNeed<T extends { readonly held: number; readonly weight: number }>(waiting: readonly T[]): T[] {
  const need = ({ held, weight }: T) => (weight > 0 ? held / weight : Number.POSITIVE_INFINITY);
  return waiting.toSorted((a, b) => {
    const [x, y] = [need(a), need(b)];
    return x === y ? 0 : x - y;
  });
}
