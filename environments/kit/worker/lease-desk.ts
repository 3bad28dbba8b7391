import type { RolloutLease } from "../../../src/wire/rollouts.ts";
import { MAX_ATTEMPTS } from "./attempts.ts";
import type { Metrics } from "./evaluate.ts";
import { during, type Failure, failureAt, wasAnswered } from "./failure.ts";
import type { LeaseResult } from "./group.ts";
import { messageOf } from "./log.ts";
import type { Runtime } from "./runtime.ts";

/** By how much this clock and the server's may differ. */
const CLOCK_MARGIN_SECONDS = 5;

/** What a lease may have lost on its way here without being renewed for it. */
const SETTLING_SECONDS = 15;

/**
 * What becomes of a message whose lease failed: delivered again, or later because the run can't go on with the lease just
 * now, or dead, or nothing to do because the lease is over.
 */
export type Fate = "again" | "later" | "dead" | "over";

/** What is said to the server about a lease. */
export class LeaseDesk {
  readonly #runtime: Runtime;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  /**
   * The lease as it is now, with time for a whole rollout; "over", or "left" to expire when the run has no endpoint for it or
   * no time for us: nothing has failed, and once it has expired its item is leased again. A message's first delivery mostly holds it already. A later one may be of a lease that got another endpoint, or
   * of one that ended just before its worker did.
   * @throws Failure
   */
  async current(lease: RolloutLease, attempts: number): Promise<RolloutLease | "over" | "left"> {
    const left = (lease.expires_at - this.#runtime.now()) / 1000 - CLOCK_MARGIN_SECONDS;
    const most = lease.lease_seconds - SETTLING_SECONDS;
    // An evaluation may take as long as its lease lasts.
    const needed = lease.kind === "evaluate" ? most : Math.min(this.#runtime.base.rollout_timeout_seconds, most);
    if (attempts === 1 && left > 0 && left >= needed) return lease;
    const { client, log } = this.#runtime;
    const { lease_id } = lease;
    try {
      const renewed = await client.renew(lease_id, {});
      if (renewed.status === "leased") return renewed.lease;
      log("info", "lease over", { lease: lease_id, reason: renewed.outcome });
      return "over";
    } catch (error) {
      if (isUnknown(error)) {
        log("info", "lease over", { lease: lease_id, reason: "unknown" });
        return "over";
      }
      if (!isUnavailable(error)) throw failureAt("internal", error);
      log("warn", "lease left", { lease: lease_id, reason: "run_unavailable", message: messageOf(error) });
      return "left";
    }
  }

  /**
   * Hands the groups in, or says why there are none. False when the lease was over: then nothing counts.
   * @param earlier whether an earlier attempt may have handed in follow-ups, which this one's replace, though it has none
   * @throws Failure
   */
  async end<Item, R>({ lease_id }: RolloutLease, result: LeaseResult<Item, R>, earlier: boolean): Promise<boolean> {
    const { client, log } = this.#runtime;
    const { groups, reason, message, followUps } = result;
    const ended = await during("submit", () =>
      this.#unlessOver(lease_id, async () => {
        if ((earlier || followUps.length > 0) && !(await this.#handInFollowUps(lease_id, followUps))) return null;
        if (reason === null) await client.submit(lease_id, groups);
        else await client.close(lease_id, { outcome: "skipped", reason, message });
        return true;
      }),
    );
    if (ended === null) log("warn", "lease over", { lease: lease_id, reason: "too_late" });
    return ended ?? false;
  }

  /**
   * False when the lease is over. When the run refuses follow-ups of an open lease, because it has no room or can't read them,
   * that is counted and the group handed in without them: it is worth more than they are.
   */
  async #handInFollowUps(lease: number, followUps: readonly unknown[]): Promise<boolean> {
    const { client, log } = this.#runtime;
    try {
      await client.backlog(lease, followUps);
      return true;
    } catch (error) {
      if (!wasAnswered(error, 409, 413, 422)) throw error;
      const failure = { reason: "follow_ups_refused", message: messageOf(error) };
      const renewed = await client.renew(lease, { failure }).catch((fault: unknown) => {
        // It only wasn't counted. Whether the lease is over comes out when the group is handed in.
        log("error", "report", { lease, reason: failure.reason, message: messageOf(fault) });
        return null;
      });
      if (renewed?.status === "closed") return false;
      log("warn", "follow-ups", { lease, ...failure });
      return true;
    }
  }

  async endEvaluation({ lease_id }: RolloutLease, metrics: Metrics): Promise<void> {
    await during("submit", () =>
      this.#unlessOver(lease_id, () =>
        this.#runtime.client.close(lease_id, { outcome: "evaluated", metrics: { ...metrics } }),
      ),
    );
  }

  /**
   * Reports a failure at once, so that it counts although this attempt is forgotten, and so that the next one finds a lease
   * that has not expired. Never throws: a report that fails costs its count alone.
   */
  async fail(lease: number, attempts: number, failure: Failure): Promise<Fate> {
    const { client, log } = this.#runtime;
    const { reason, message, endpointFault: endpoint_fault } = failure;
    try {
      if (attempts >= MAX_ATTEMPTS) {
        await client.close(lease, { outcome: "failed", reason, message, endpoint_fault });
        return "dead";
      }
      const renewed = await client.renew(lease, { failure: { reason, message, endpoint_fault } });
      return renewed.status === "leased" ? "again" : "over";
    } catch (error) {
      if (isUnknown(error)) return "over";
      log("error", "report", { lease, reason, message: messageOf(error) });
      if (attempts >= MAX_ATTEMPTS) return "dead";
      return isUnavailable(error) ? "later" : "again";
    }
  }

  /** Null when the lease is over. A conflict may have another cause, so then the lease itself is asked for. */
  async #unlessOver<T>(lease: number, ask: () => Promise<T>): Promise<T | null> {
    try {
      return await ask();
    } catch (error) {
      if (isUnknown(error)) return null;
      if (wasAnswered(error, 409) && (await this.#runtime.client.renew(lease, {})).status === "closed") return null;
      throw error;
    }
  }
}

/** The lease ended long ago, or never was: of a run that was reset. */
function isUnknown(error: unknown): boolean {
  return wasAnswered(error, 404, 410);
}

function isUnavailable(error: unknown): boolean {
  return wasAnswered(error, 429, 503);
}
