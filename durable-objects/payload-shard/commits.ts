import type { Commit, CommittedGroup, Verdict } from "../payloads.ts";
import { retry } from "../retry.ts";
import { UnconfirmedCommits } from "./unconfirmed-commits.ts";

/**
 * Groups of a commit at most, as many as one request may have: at about 190 bytes each, and their key, its call stays below
 * the 32 MiB of a message.
 */
const MAX_GROUPS = 65_536;

/** Stores a request's payloads and answers with its groups. Runs inside the transaction of the group commit of that number. */
export type Store = (commit: number) => readonly CommittedGroup[];

/** The shard's counters. */
export interface Counters {
  /** The number of the next commit. A number that is taken and not used is never used. */
  takeCommit(): number;
  /** Keeps the counters, in the transaction that used them. */
  save(): void;
}

interface PendingRequest {
  /** How many it has. */
  readonly groups: number;
  readonly store: Store;
  readonly resolve: (verdicts: readonly Verdict[]) => void;
  readonly reject: (error: unknown) => void;
}

interface StoredCommit {
  readonly commit: Commit;
  readonly requests: readonly PendingRequest[];
}

/**
 * Group commit: requests that arrive while the previous commit is on its way to the Run share one transaction and one
 * call. Commits go out one at a time and numbered, so the Run needs one number a shard to drop what it already has.
 */
export class Commits {
  readonly #storage: DurableObjectStorage;
  readonly #shard: number;
  readonly #counters: Counters;
  readonly #send: (commit: Commit) => Promise<readonly (readonly Verdict[])[]>;
  readonly #unconfirmed: UnconfirmedCommits;
  #waiting: PendingRequest[] = [];
  #lastCommitted = 0;
  #confirmed = 0;
  #draining: Promise<void> | null = null;
  /** Whether commits of an earlier life, or ones whose call failed, may be stored. */
  #mayHaveUnconfirmed = true;

  constructor(
    storage: DurableObjectStorage,
    shard: number,
    counters: Counters,
    send: (commit: Commit) => Promise<readonly (readonly Verdict[])[]>,
  ) {
    this.#storage = storage;
    this.#shard = shard;
    this.#counters = counters;
    this.#send = send;
    this.#unconfirmed = new UnconfirmedCommits(storage.sql);
  }

  /** Resolves when the payloads and envelopes of so many groups are durable. */
  add(groups: number, store: Store): Promise<readonly Verdict[]> {
    const { promise, resolve, reject } = Promise.withResolvers<readonly Verdict[]>();
    this.#waiting.push({ groups, store, resolve, reject });
    void this.#drain();
    return promise;
  }

  /**
   * Sends again what the Run never confirmed.
   * @throws when some of it still isn't confirmed.
   */
  async resend(): Promise<void> {
    await this.#drain();
    if (this.#mayHaveUnconfirmed) throw new Error("the Run has not confirmed every commit");
  }

  #drain(): Promise<void> {
    this.#draining ??= this.#drainAll();
    return this.#draining;
  }

  /** Runs until nobody waits; never rejects. What comes while it runs is served by it, so it ends in the same turn it looks. */
  async #drainAll(): Promise<void> {
    do {
      // Where several come at once, more are on their way: a turn lets them in (7.9 requests a commit instead of 2.8 with 16
      // clients; longer waits gathered no more). Someone alone isn't kept waiting.
      if (this.#waiting.length > 1 || this.#lastCommitted > 1) await scheduler.wait(0);
      const requests = this.#takeWaiting();
      this.#lastCommitted = requests.length;
      try {
        await this.#resendUnconfirmed();
        await this.#commit(requests);
      } catch (error) {
        for (const request of requests) request.reject(error);
      }
    } while (this.#waiting.length > 0);
    this.#draining = null;
  }

  /** As many of those who wait as fit one commit. */
  #takeWaiting(): PendingRequest[] {
    let groups = 0;
    const end = this.#waiting.findIndex((request, index) => {
      groups += request.groups;
      return index > 0 && groups > MAX_GROUPS;
    });
    return this.#waiting.splice(0, end === -1 ? this.#waiting.length : end);
  }

  async #commit(requests: readonly PendingRequest[]): Promise<void> {
    if (requests.length === 0) return;
    const stored = this.#storeTogether(requests) ?? this.#storeWhatCanBe(requests);
    if (stored === null) return;
    this.#mayHaveUnconfirmed = true;
    const verdicts = await retry(() => this.#send(stored.commit));
    this.#confirm(stored.commit.sequence);
    this.#mayHaveUnconfirmed = false;
    for (const [index, request] of stored.requests.entries()) request.resolve(verdicts[index] ?? []);
  }

  /** Stores all requests in one transaction; null, with nothing stored, if one of them can't be. */
  #storeTogether(requests: readonly PendingRequest[]): StoredCommit | null {
    const sequence = this.#counters.takeCommit();
    try {
      return this.#storage.transactionSync(() => {
        const groups = requests.map(({ store }) => store(sequence));
        return this.#note(sequence, requests, groups);
      });
    } catch {
      return null;
    }
  }

  /** Stores each request in a savepoint of its own, so that one that fails takes none of its neighbours along. */
  #storeWhatCanBe(requests: readonly PendingRequest[]): StoredCommit | null {
    const sequence = this.#counters.takeCommit();
    return this.#storage.transactionSync(() => {
      const groups: (readonly CommittedGroup[])[] = [];
      const kept: PendingRequest[] = [];
      for (const request of requests) {
        try {
          groups.push(this.#storage.transactionSync(() => request.store(sequence)));
          kept.push(request);
        } catch (error) {
          request.reject(error);
        }
      }
      return kept.length === 0 ? null : this.#note(sequence, kept, groups);
    });
  }

  /** Keeps a commit's envelopes until the Run has confirmed it. */
  #note(
    sequence: number,
    requests: readonly PendingRequest[],
    groups: readonly (readonly CommittedGroup[])[],
  ): StoredCommit {
    // Confirmed commits are forgotten here, in a transaction that is paid for anyway, rather than one by one.
    this.#unconfirmed.forgetThrough(this.#confirmed);
    this.#unconfirmed.add(sequence, groups);
    this.#counters.save();
    return { commit: { shard: this.#shard, sequence, requests: groups }, requests };
  }

  async #resendUnconfirmed(): Promise<void> {
    if (!this.#mayHaveUnconfirmed) return;
    for (const sequence of this.#unconfirmed.after(this.#confirmed)) {
      const commit: Commit = { shard: this.#shard, sequence, requests: this.#unconfirmed.get(sequence) };
      await retry(() => this.#send(commit));
      this.#confirm(sequence);
    }
    this.#mayHaveUnconfirmed = false;
  }

  /** A confirmation may come late, when a commit was sent twice. */
  #confirm(sequence: number): void {
    this.#confirmed = Math.max(this.#confirmed, sequence);
  }
}
