import type { Commit, CommittedGroup, PayloadAddress, Verdict } from "../payloads.ts";
import type { Discards } from "./discards.ts";
import type { Environments } from "./environments.ts";
import { filterReason, NO_FILTERS } from "./filters.ts";
import type { ForkProgress } from "./fork-progress.ts";
import { type IdempotencyKeys, keyOf } from "./idempotency-keys.ts";
import type { FullReason } from "./losses.ts";
import { type KeptGroup, keep, type Queue } from "./queue.ts";
import type { Rollouts } from "./rollouts/rollouts.ts";
import { overflow } from "./room.ts";
import type { Shards } from "./shards.ts";
import type { RunState } from "./state.ts";
import type { Telemetry } from "./telemetry.ts";
import { repeated } from "./verdicts.ts";

/** What taking groups in needs of the Run. */
export interface IntakeHost {
  parts(): {
    readonly state: RunState;
    readonly queue: Queue;
    readonly environments: Environments;
    readonly shards: Shards;
    readonly keys: IdempotencyKeys;
    readonly fork: ForkProgress;
  };
  /** Why the object can take no more groups for now, or null. */
  full(): Verdict | null;
  /** Lets go of a group that is not queued, and counts why. Called within a transaction. */
  drop(groups: readonly KeptGroup[], reason: string): void;
  readonly rollouts: Rollouts;
  readonly discards: Discards;
  /** Changes disk and memory together. */
  transaction<T>(change: () => T): T;
  readonly telemetry: Telemetry;
  /** Payloads were refused, and are to be let go. */
  refused(): void;
  /** Groups were queued. */
  queued(): void;
}

/** The way of groups into the queue, request by request. */
export class Intake {
  readonly #host: IntakeHost;

  constructor(host: IntakeHost) {
    this.#host = host;
  }

  /** Queues the groups of a shard's commit. A commit taken before changes nothing and gets the same verdicts. */
  commit(commit: Commit): readonly (readonly Verdict[])[] {
    const taken = this.#host.parts().shards.verdictsIfTaken(commit);
    if (taken !== null) return taken;
    const now = Date.now();
    this.#host.rollouts.expire(now);
    let isRefused = false;
    const verdicts = this.#host.transaction(() => {
      let latest: PayloadAddress | null = null;
      const answers = commit.requests.map((groups) => {
        const refusal = this.#refusal(groups, now);
        if (refusal !== null) {
          for (const { payload } of groups) this.#host.discards.add(commit.shard, payload);
          isRefused = true;
          return refusal;
        }
        const last = groups.at(-1);
        if (last !== undefined) {
          const { payload, rows, bytes } = last;
          latest = { shard: commit.shard, payload, rows, bytes };
        }
        return this.#queue(commit.shard, groups, now);
      });
      this.#host.parts().shards.advance(commit, answers, latest);
      return answers;
    });
    if (isRefused) this.#host.refused();
    this.#host.queued();
    return verdicts;
  }

  /**
   * A request was refused as there is no room, here or at a shard. On a full disk floors that are unmet are suspended: what they
   * ask for can't come before a batch has made room (P2). Each counts again with its environment's next group. A full queue
   * has room for them, see {@link overflow}.
   */
  full(reason: FullReason): void {
    const { state, queue, environments } = this.#host.parts();
    const now = Date.now();
    this.#host.telemetry.losses.refused(reason, now);
    const batchSize = state.registration?.batch_size;
    if (batchSize === undefined || reason === "queue_full") return;
    for (const [id, floor] of environments.floors(batchSize, now))
      if ((queue.index.environments.get(id)?.sequences ?? 0) < floor) environments.suspendFloor(id, true);
  }

  /** A request is taken whole or not at all: the verdicts if one of its groups can't be, else null. */
  #refusal(groups: readonly CommittedGroup[], now: number): readonly Verdict[] | null {
    const request = groups[0] ?? { lease: null, key: null };
    const { lease } = request;
    const { key, wanted } = keyOf(request, this.#host.parts().state.registration?.deduplicate === true);
    // What was taken before is answered as then, whatever has changed since.
    const before = key === null ? null : this.#host.parts().keys.find(key, now);
    if (before !== null) {
      return before.length === groups.length
        ? repeated(before)
        : groups.map((): Verdict => ({ status: "key_reused", groups: before.length }));
    }
    const copies = this.#host.parts().fork.judge(groups);
    if (copies !== null) return copies;
    if (wanted) return groups.map(() => ({ status: "contents_wanted" }));
    const judged = lease === null ? null : this.#host.rollouts.judge(lease, groups);
    if (judged !== null) return judged;
    // Groups under a lease had their room kept, and those of a fork have had theirs.
    const isBounded = lease === null && groups[0]?.copied === undefined;
    const full = this.#host.full() ?? (isBounded ? overflow(this.#host.parts(), groups, now) : null);
    if (full !== null) {
      this.full(full.status === "disk_full" ? "disk_full" : "queue_full");
      return groups.map(() => full);
    }
    const batchSize = this.#host.parts().state.registration?.batch_size ?? Number.POSITIVE_INFINITY;
    if (groups.every(({ sequences }) => sequences <= batchSize)) return null;
    return groups.map(({ sequences }) =>
      sequences > batchSize
        ? { status: "larger_than_batch", sequences, batchSize }
        : { status: "refused_with_request" },
    );
  }

  #queue(shard: number, groups: readonly CommittedGroup[], now: number): Verdict[] {
    const { queue, environments, shards, state, keys, fork } = this.#host.parts();
    const filters = state.registration?.filters ?? NO_FILTERS;
    const lease = this.#host.rollouts.lease(groups[0]?.lease ?? null);
    const verdicts = groups.map((group): Verdict => {
      // A lease knows better than the client what its groups were made with.
      const known = lease === null ? group : { ...group, ...lease };
      const environment = known.environment === null ? undefined : environments.get(known.environment);
      if (environment !== undefined) {
        environments.heard(environment, now);
        environments.suspendFloor(environment.id, false);
      }
      const reason = group.copied === undefined ? filterReason(filters, group) : null;
      if (reason !== null) {
        this.#host.drop([keep(known, shard, shards.takeAge(), state.step)], reason);
        return { status: "filtered", reason };
      }
      // Nobody makes up the groups of an environment that has gone.
      const groupSize = environment?.connected ? environment.groupSize : undefined;
      const kept = keep(known, shard, shards.takeAge(), state.step);
      this.#host.telemetry.groupQueued(kept, now);
      return queue.add(kept, groupSize);
    });
    if (lease !== null) this.#host.rollouts.submitted(lease.lease, verdicts, now);
    const { key } = keyOf(groups[0] ?? { lease: null, key: null }, state.registration?.deduplicate === true);
    if (key !== null) keys.add(key, verdicts, now);
    fork.advance(groups);
    return verdicts;
  }
}
