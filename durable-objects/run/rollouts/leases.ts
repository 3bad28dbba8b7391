import type { Verdict } from "../../payloads.ts";
import { readVerdicts, writeVerdicts } from "../verdicts.ts";

export type Kind = "train" | "evaluate";

/** How a lease ended; null while it is open. */
export type Outcome = "submitted" | "skipped" | "evaluated" | "failed" | "expired" | "cancelled";

/** Permission to generate one group, or to evaluate once. */
export interface Lease {
  readonly id: number;
  readonly environment: number;
  readonly kind: Kind;
  /** Of the environment's sequence; null for a follow-up item and for an evaluation. */
  readonly item: number | null;
  /** A follow-up item as JSON. */
  readonly backlog: string | null;
  readonly seed: number;
  readonly attempt: number;
  readonly policyVersion: number;
  readonly step: number;
  readonly endpoint: number;
  /** Sequences it may bring, for which room is kept; 0 for an evaluation. */
  readonly sequences: number;
  /** Unix milliseconds. */
  readonly expiresAt: number;
  /** Queued and leased sequences right after it was given out: the record of the admission bound. */
  readonly admitted: number;
}

export interface ClosedLease {
  readonly outcome: Outcome;
  readonly reason: string | null;
  readonly verdicts: readonly Verdict[] | null;
}

/** A line of the record. Field names are the wire's. */
export interface LeaseRecord {
  readonly lease_id: number;
  readonly env_id: number;
  readonly kind: Kind;
  readonly item: number | null;
  readonly attempt: number;
  readonly policy_version: number;
  readonly endpoint_id: number;
  readonly outcome: Outcome | "open";
  readonly reason: string | null;
  readonly groups: number;
  readonly admitted_sequences: number;
}

type LeaseRow = {
  id: number;
  environment: number;
  kind: Kind;
  item: number | null;
  backlog: string | null;
  seed: number;
  attempt: number;
  policy_version: number;
  step: number;
  endpoint: number;
  sequences: number;
  expires_at: number;
  admitted: number;
};

/** Closed leases are kept this long, so that a submission that comes again is told from a new one. */
const KEEP_CLOSED_MS = 24 * 3_600_000;

/** Rows deleted at a time. */
const PURGE_ROWS = 2_000;

/** Rollout leases: open ones in memory too, closed ones on disk for a day. */
export class Leases {
  readonly #sql: SqlStorage;
  readonly #open = new Map<number, Lease>();
  readonly #sequences = new Map<number, number>();
  readonly #evaluating = new Set<number>();
  #leasedSequences = 0;
  /** No open lease expires before, so that most looks for expired ones cost nothing. */
  #soonest = Number.POSITIVE_INFINITY;
  #nextId: number;

  constructor(sql: SqlStorage) {
    this.#sql = sql;
    for (const row of sql.exec<LeaseRow>("SELECT * FROM rollout_lease WHERE outcome IS NULL ORDER BY id")) {
      const { policy_version, expires_at, id, environment, kind, item, backlog, seed, attempt, ...rest } = row;
      const { step, endpoint, sequences, admitted } = rest;
      const place = { id, environment, kind, item, backlog, seed, attempt, step, endpoint, sequences, admitted };
      this.#keep({ ...place, policyVersion: policy_version, expiresAt: expires_at });
    }
    this.#nextId = (sql.exec<{ last: number | null }>("SELECT MAX(id) AS last FROM rollout_lease").one().last ?? 0) + 1;
  }

  get open(): ReadonlyMap<number, Lease> {
    return this.#open;
  }

  /** Sequences room is kept for, in the whole run. */
  get leasedSequences(): number {
    return this.#leasedSequences;
  }

  /** The same of one environment. */
  sequencesOf(environment: number): number {
    return this.#sequences.get(environment) ?? 0;
  }

  /** Whether the environment has an open lease to evaluate. */
  isEvaluating(environment: number): boolean {
    return this.#evaluating.has(environment);
  }

  add(lease: Omit<Lease, "id">): Lease {
    const kept = { id: this.#nextId++, ...lease };
    this.#sql.exec(
      `INSERT INTO rollout_lease
       (id, environment, kind, item, backlog, seed, attempt, policy_version, step, endpoint, sequences, expires_at, admitted)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      kept.id,
      kept.environment,
      kept.kind,
      kept.item,
      kept.backlog,
      kept.seed,
      kept.attempt,
      kept.policyVersion,
      kept.step,
      kept.endpoint,
      kept.sequences,
      kept.expiresAt,
      kept.admitted,
    );
    this.#keep(kept);
    return kept;
  }

  /** A lease that goes on, perhaps with another endpoint. */
  renew(lease: Lease, expiresAt: number, endpoint: number): Lease {
    const renewed = { ...lease, expiresAt, endpoint };
    this.#sql.exec("UPDATE rollout_lease SET expires_at = ?, endpoint = ? WHERE id = ?", expiresAt, endpoint, lease.id);
    this.#open.set(lease.id, renewed);
    return renewed;
  }

  close(lease: Lease, outcome: Outcome, reason: string | null, now: number, verdicts: readonly Verdict[] = []): void {
    const allReceived = verdicts.every(({ status }) => status === "received");
    this.#sql.exec(
      "UPDATE rollout_lease SET outcome = ?, reason = ?, closed_at = ?, groups = ?, verdicts = ? WHERE id = ?",
      outcome,
      reason,
      now,
      verdicts.length,
      allReceived ? null : writeVerdicts(verdicts),
      lease.id,
    );
    this.#open.delete(lease.id);
    if (lease.kind === "evaluate") this.#evaluating.delete(lease.environment);
    this.#reserve(lease.environment, -lease.sequences);
  }

  /** How a lease ended, or null if it is open, was never given out, or ended more than a day ago. */
  closed(id: number): ClosedLease | null {
    type Row = { outcome: Outcome; reason: string | null; groups: number; verdicts: string | null };
    const [row] = this.#sql
      .exec<Row>("SELECT outcome, reason, groups, verdicts FROM rollout_lease WHERE id = ? AND outcome IS NOT NULL", id)
      .toArray();
    if (row === undefined) return null;
    if (row.outcome !== "submitted") return { outcome: row.outcome, reason: row.reason, verdicts: null };
    const received: Verdict[] = Array.from({ length: row.groups }, () => ({ status: "received" }));
    const verdicts = row.verdicts === null ? received : readVerdicts(row.verdicts);
    return { outcome: row.outcome, reason: row.reason, verdicts };
  }

  expired(now: number): Lease[] {
    if (now < this.#soonest) return [];
    const expired = [...this.#open.values()].filter(({ expiresAt }) => expiresAt <= now);
    // Those that are returned are about to be closed.
    this.#soonest = expired.length > 0 ? now : (this.nextExpiry() ?? Number.POSITIVE_INFINITY);
    return expired;
  }

  /** When the next one expires, in Unix milliseconds; null if none is open. */
  nextExpiry(): number | null {
    let next: number | null = null;
    for (const { expiresAt } of this.#open.values()) if (next === null || expiresAt < next) next = expiresAt;
    return next;
  }

  /** Forgets some of those that ended more than a day ago. The last one stays, so that ids go on. */
  purge(now: number): void {
    this.#sql.exec(
      `DELETE FROM rollout_lease WHERE id IN (
         SELECT id FROM rollout_lease WHERE closed_at < ? AND id < (SELECT MAX(id) FROM rollout_lease) ORDER BY id LIMIT ?)`,
      now - KEEP_CLOSED_MS,
      PURGE_ROWS,
    );
  }

  list(environment: number | null, after: number, limit: number): LeaseRecord[] {
    type Row = LeaseRow & { outcome: Outcome | null; reason: string | null; groups: number };
    const rows = this.#sql.exec<Row>(
      "SELECT * FROM rollout_lease WHERE id > ?1 AND (?2 IS NULL OR environment = ?2) ORDER BY id LIMIT ?3",
      after,
      environment,
      limit,
    );
    return rows.toArray().map((row) => ({
      lease_id: row.id,
      env_id: row.environment,
      kind: row.kind,
      item: row.item,
      attempt: row.attempt,
      policy_version: row.policy_version,
      endpoint_id: row.endpoint,
      outcome: row.outcome ?? "open",
      reason: row.reason,
      groups: row.groups,
      admitted_sequences: row.admitted,
    }));
  }

  #keep(lease: Lease): void {
    this.#open.set(lease.id, lease);
    if (lease.kind === "evaluate") this.#evaluating.add(lease.environment);
    this.#soonest = Math.min(this.#soonest, lease.expiresAt);
    this.#reserve(lease.environment, lease.sequences);
  }

  #reserve(environment: number, sequences: number): void {
    this.#leasedSequences += sequences;
    this.#sequences.set(environment, this.sequencesOf(environment) + sequences);
  }
}
