import type { QueueIndex } from "./assembler/index.ts";
import type { Environment, Environments } from "./environments.ts";

/** What a stock environment paces itself by. Field names are the wire's. */
export interface EnvironmentStatus {
  readonly current_step: number;
  /** In groups of the asking environment's size: all it should count as waiting. */
  readonly queue_size: number;
  readonly unallocated_fraction: number;
  readonly self_queue_size: number;
  readonly max_group_size: number;
  readonly env_weight: number;
}

/** An environment is never told to stop altogether, whatever its weight. */
const MIN_WEIGHT = 0.01;

/** Sums over all environments, computed once a change: thousands of environments may poll between two changes. */
interface Totals {
  readonly indexVersion: number;
  readonly environmentsVersion: number;
  readonly batchSize: number;
  readonly weight: number;
  readonly floorShare: number;
  readonly available: number;
}

/**
 * Answers polls of environments by the rules of the stock server: a queue counted in groups of the asking environment's
 * size, in which other environments count with whole groups of the largest queued size, beyond their own floors.
 */
export class EnvironmentStatuses {
  readonly #environments: Environments;
  readonly #index: QueueIndex;
  #totals: Totals | null = null;

  constructor(environments: Environments, index: QueueIndex) {
    this.#environments = environments;
    this.#index = index;
  }

  status(environment: Environment, step: number, batchSize: number): EnvironmentStatus {
    const totals = this.#current(batchSize);
    const own = this.#index.environments.get(environment.id);
    const ownSequences = own?.sequences ?? 0;
    const groupSize = Math.max(environment.groupSize, ...(own?.classes.keys() ?? []));
    const others = totals.available - this.#available(environment.id, ownSequences, batchSize);
    const weight = totals.weight > 0 ? weightOf(environment) / totals.weight : 0;
    return {
      current_step: step,
      queue_size: Math.floor((ownSequences + others) / groupSize),
      unallocated_fraction: 1 - Math.min(totals.floorShare, 1),
      self_queue_size: Math.floor(ownSequences / groupSize),
      max_group_size: Math.max(1, this.#index.maxGroupSize),
      env_weight: Math.max(MIN_WEIGHT, weight),
    };
  }

  #current(batchSize: number): Totals {
    const { version: indexVersion } = this.#index;
    const { version: environmentsVersion } = this.#environments;
    const kept = this.#totals;
    if (
      kept?.indexVersion === indexVersion &&
      kept.environmentsVersion === environmentsVersion &&
      kept.batchSize === batchSize
    ) {
      return kept;
    }
    let weight = 0;
    let floorShare = 0;
    for (const environment of this.#environments.connected()) {
      weight += weightOf(environment);
      floorShare += environment.floor ?? 0;
    }
    let available = 0;
    for (const [id, { sequences }] of this.#index.environments) available += this.#available(id, sequences, batchSize);
    this.#totals = { indexVersion, environmentsVersion, batchSize, weight, floorShare, available };
    return this.#totals;
  }

  /** Sequences an environment's queued groups count for in the eyes of another. */
  #available(id: number | null, sequences: number, batchSize: number): number {
    const size = Math.max(1, this.#index.maxGroupSize);
    const packed = Math.ceil(sequences / size) * size;
    const environment = id === null ? undefined : this.#environments.get(id);
    const floor = environment?.connected ? Math.floor(batchSize * (environment.floor ?? 0)) : 0;
    return Math.max(0, packed - floor);
  }
}

function weightOf(environment: Environment): number {
  return Math.max(0, environment.maxTokenLength) * Math.max(0, environment.weight);
}
