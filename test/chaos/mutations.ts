/** A piece of the server's source, and what a broken server has instead. */
export interface Edit {
  /** From the root of the project. */
  readonly file: string;
  /** Stands in the file exactly once. */
  readonly find: string;
  readonly replace: string;
}

export interface Mutation {
  readonly what: string;
  /** The check that has to find it: another one that fails proves nothing of this. */
  readonly caughtBy: string;
  readonly edits: readonly Edit[];
}

/** Broken servers, each of which the campaign must tell from a sound one. */
export const MUTATIONS: Readonly<Record<string, Mutation>> = {
  "drop-key-check": {
    what: "the Run does not recognise a key or a rollout lease it has seen",
    caughtBy: "no group with a key or a lease is in batches twice",
    edits: [
      {
        file: "durable-objects/run/intake.ts",
        find: "const before = key === null ? null : this.#host.parts().keys.find(key, now);",
        replace: "const before = null;",
      },
      {
        file: "durable-objects/run/intake.ts",
        find: "const judged = lease === null ? null : this.#host.rollouts.judge(lease, groups);",
        replace: "const judged = null;",
      },
    ],
  },
  "ack-at-lease-time": {
    what: "a leased batch counts as acknowledged when it is handed out",
    caughtBy: "no group that was answered received is lost",
    edits: [
      {
        file: "durable-objects/run/hand-out.ts",
        find: "if (batch.leaseUntil > 0) this.#host.wakeAt(batch.leaseUntil);",
        replace: "if (batch.leaseUntil > 0) parts.batches.delivered(batch.id);",
      },
    ],
  },
  // Nobody outside can tell: a client that hears nothing asks again, and another commit takes the group. What stays are
  // bytes in the shard that no queue knows of, and, of a client that never asks again, the group. So the payloads are counted.
  "skip-recommit": {
    what: "a shard that wakes does not send its unconfirmed commits again",
    caughtBy: "no payload is left behind in a shard",
    edits: [
      {
        file: "durable-objects/payload-shard/commits.ts",
        find: "#mayHaveUnconfirmed = true;\n\n",
        replace: "#mayHaveUnconfirmed = false;\n\n",
      },
    ],
  },
};
