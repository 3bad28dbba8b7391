import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import { type AwayEvents, isAway } from "./away.ts";

/** How long to wait for what, in milliseconds. */
export interface Patience {
  /** Between two looks. */
  readonly every: number;
  /** In all. */
  readonly longest: number;
  /** For an environment that has to evaluate and isn't heard of. */
  readonly silence: number;
  /** For a server that is away. */
  readonly away: number;
}

/**
 * A lease lasts ten minutes if an environment doesn't say otherwise, and an environment that is started every minute and was told
 * that there is nothing to do comes back with the next one.
 */
export const PATIENCE: Patience = { every: 1_000, longest: 600_000, silence: 90_000, away: 30_000 };

export interface LastEvaluationEvents extends Pick<AwayEvents, "onAway"> {
  /** Told once, with the names of the environments that are waited for. */
  readonly onWaiting: (environments: readonly string[]) => void;
}

/**
 * Resolves when no environment evaluates any more, or is about to; when that takes too long, when it can't be found out, or when
 * the signal is aborted.
 */
export async function lastEvaluations(
  client: Pick<Client, "environments">,
  { onWaiting, onAway }: LastEvaluationEvents,
  { every, longest, silence, away }: Patience,
  signal?: AbortSignal,
): Promise<void> {
  const until = performance.now() + longest;
  let awaySince: number | null = null;
  let isTold = false;
  while (signal?.aborted !== true && performance.now() < until) {
    try {
      const { environments } = await client.environments();
      awaySince = null;
      const evaluating = environments.filter(
        ({ evaluation, last_heard_seconds }) =>
          evaluation === "under_way" || (evaluation === "due" && last_heard_seconds * 1000 < silence),
      );
      if (evaluating.length === 0) return;
      if (!isTold) onWaiting(evaluating.map(({ name }) => name));
      isTold = true;
    } catch (error) {
      awaySince ??= performance.now();
      if (!isAway(error) || performance.now() - awaySince > away) return;
      onAway(error.message, every / 1000);
    }
    await sleep(every, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}
