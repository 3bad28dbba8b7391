/**
 * What a campaign saw from outside, and what the server says of itself at the end. The checker judges this and knows nothing
 * else. Times are readings of one clock that counts events, so no two are equal.
 */

/** A group as a client sent it. */
export interface SentGroup {
  /** Unique in the campaign; a trainer finds it in the group. */
  readonly id: string;
  readonly sequences: number;
  /** Null where the client doesn't know what the server takes for it. */
  readonly policyVersion: number | null;
  /** Whether the run's filters keep it from trainers. */
  readonly isFiltered: boolean;
  /** Stands for its contents. */
  readonly digest: string;
}

/** A definite answer that left the server whole: neither a 5xx nor a 429. */
export interface Answer {
  readonly status: number;
  readonly body: string;
  /** The server said that it had answered this before. */
  readonly repeated: boolean;
}

/** Groups a client wanted to hand in, and all that came of it: retries, duplicates and replays included. */
export interface Submission {
  readonly client: string;
  readonly environment: number;
  /**
   * What makes its requests the same to the server: `key K`, `lease L`, `contents C`; null for a client that names nothing to
   * a server that doesn't look at contents.
   */
  readonly identity: string | null;
  readonly groups: readonly SentGroup[];
  /** Requests that its client sent. */
  readonly attempts: number;
  /** In the order in which they left the server, whether or not the client heard them. */
  readonly answers: readonly Answer[];
}

/** A batch, or a slice of one, that left the server whole. */
export interface Delivery {
  readonly batch: number;
  readonly step: number;
  /** Null for a batch that was not cut. */
  readonly slice: { readonly rank: number; readonly of: number } | null;
  /** Ids of its groups, in order. */
  readonly groups: readonly string[];
  /** What stands for the contents of each, as they came. */
  readonly digests: readonly string[];
  /** When its request went to the server. */
  readonly askedAt: number;
  readonly trainer: string;
  /** When the last byte came. */
  readonly answeredAt: number;
  /** Until when the trainer holds it, in Unix milliseconds. */
  readonly heldUntil: number;
  /** Whether a trainer heard it. */
  readonly heard: boolean;
}

/** A definite answer to an ack. */
export interface AckAnswer {
  readonly batch: number;
  readonly trainer: string;
  readonly status: number;
  /** The server said that this ack changed nothing. */
  readonly repeated: boolean;
  readonly askedAt: number;
  readonly answeredAt: number;
  /** The same in Unix milliseconds. */
  readonly answeredTime: number;
}

/** A rollout lease as the server has it on record. */
export interface LeaseOnRecord {
  readonly lease: number;
  readonly environment: number;
  readonly item: number | null;
  readonly attempt: number;
  readonly outcome: string;
  readonly groups: number;
  readonly policyVersion: number;
  /** Queued and leased sequences right after it was given out. */
  readonly admitted: number;
}

export interface EnvironmentOnRecord {
  readonly environment: number;
  readonly name: string;
  readonly weight: number;
  /** Share of a batch. */
  readonly floor: number | null;
  /** Queued groups that left the queue for no batch, all reasons together. */
  readonly dropped: number;
}

/** A payload that a shard has bytes of, when all is drained. */
export interface StoredPayload {
  readonly payload: string;
  /** Whether the Run knows of it. */
  readonly known: boolean;
}

/** What came when all was drained and the trainer went back to an earlier step. */
export interface Rewind {
  readonly step: number;
  readonly batches: readonly ServedBatch[];
}

/** A batch as it was served. Its groups are ids, in order. */
export type ServedBatch = Pick<Delivery, "batch" | "step" | "groups">;

export interface History {
  readonly batchSize: number;
  readonly maxStaleness: number;
  /** Sequences that may be queued and leased. */
  readonly admissionBound: number;
  readonly submissions: readonly Submission[];
  readonly deliveries: readonly Delivery[];
  readonly acks: readonly AckAnswer[];
  /** Batches that a trainer ever gave back, or tried to. */
  readonly released: readonly number[];
  readonly rewind: Rewind;
  readonly leases: readonly LeaseOnRecord[];
  readonly environments: readonly EnvironmentOnRecord[];
  /** The last step at which all environments were alive and busy: later batches are the rest. */
  readonly lastBusyStep: number;
  /** How many payloads the shards ever had, and which they have still. */
  readonly payloadsEver: number;
  readonly payloads: readonly StoredPayload[];
}
