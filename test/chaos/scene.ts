/** The run of a campaign. */
export const BATCH_SIZE = 16;
export const MAX_BATCHES_OFFPOLICY = 6;
/** In steps. */
export const MAX_STALENESS = 20;
export const PAYLOAD_SHARDS = 3;
/** Steps that delivered batches are kept for, all of which a rewind at the end goes back. */
export const KEEP_STEPS = 10;
/** Groups with a higher mean score are kept from trainers. */
export const MAX_MEAN_SCORE = 1;

export const ROLLOUT_LEASE_SECONDS = 3;
export const BATCH_LEASE_SECONDS = 3;

/** How an environment's clients hand in groups. */
export type Way = "keyed" | "keyed_list" | "leased" | "plain";

export interface EnvironmentScene {
  readonly name: string;
  readonly way: Way;
  readonly weight: number;
  readonly floor: number | null;
  readonly groupSize: number;
  /** Sequences of a rollout lease. */
  readonly leaseSequences: number;
  readonly clients: number;
  /** Groups it likes to have queued, where nobody but itself holds it back. */
  readonly queueTarget: number;
  /** Tokens of a sequence. */
  readonly tokens: number;
}

/**
 * The floor is that of an environment which draws no leases: those of others are suspended now and then, when the run is
 * full before they came.
 */
export const ENVIRONMENTS: readonly EnvironmentScene[] = [
  {
    name: "floor",
    way: "keyed",
    weight: 2,
    floor: 0.25,
    groupSize: 4,
    leaseSequences: 4,
    clients: 2,
    queueTarget: 6,
    tokens: 8,
  },
  {
    name: "lists",
    way: "keyed_list",
    weight: 1,
    floor: null,
    groupSize: 2,
    leaseSequences: 2,
    clients: 2,
    queueTarget: 6,
    tokens: 40,
  },
  {
    name: "leased",
    way: "leased",
    weight: 2,
    floor: null,
    groupSize: 4,
    leaseSequences: 4,
    clients: 2,
    queueTarget: 0,
    tokens: 8,
  },
  {
    name: "follow-ups",
    way: "leased",
    weight: 1,
    floor: null,
    groupSize: 4,
    leaseSequences: 8,
    clients: 2,
    queueTarget: 0,
    tokens: 300,
  },
  {
    name: "plain",
    way: "plain",
    weight: 1,
    floor: null,
    groupSize: 4,
    leaseSequences: 4,
    clients: 2,
    queueTarget: 4,
    tokens: 8,
  },
];

export interface TrainerScene {
  readonly name: string;
  /** Processes that take a batch in slices; 1 takes it whole. */
  readonly ranks: number;
  /** Whether it says which hold of a batch it ends, or its name alone. */
  readonly saysHold: boolean;
}

export const TRAINERS: readonly TrainerScene[] = [
  { name: "trainer-0", ranks: 1, saysHold: true },
  { name: "trainer-1", ranks: 1, saysHold: false },
  { name: "ranks", ranks: 2, saysHold: true },
];
