import { setTimeout as sleep } from "node:timers/promises";
import type { Client } from "../../src/client/client.ts";
import { isAway } from "./away.ts";

/** How often to look, and for how long at most, in milliseconds. */
export interface Patience {
  readonly every: number;
  readonly longest: number;
}

/** As long as a lease of an environment lasts that doesn't say otherwise. */
export const PATIENCE: Patience = { every: 1_000, longest: 600_000 };

/**
 * Resolves when no environment evaluates any more, or is about to; when that takes too long, when it can't be found out, or when
 * the signal is aborted. An environment that isn't alive will not begin. `onWaiting` is told once which ones are waited for.
 */
export async function lastEvaluations(
  client: Pick<Client, "environments">,
  onWaiting: (environments: readonly string[]) => void,
  { every, longest }: Patience,
  signal?: AbortSignal,
): Promise<void> {
  const until = performance.now() + longest;
  let isTold = false;
  while (signal?.aborted !== true && performance.now() < until) {
    try {
      const { environments } = await client.environments();
      const evaluating = environments.filter(
        ({ evaluation, alive }) => evaluation === "under_way" || (evaluation === "due" && alive),
      );
      if (evaluating.length === 0) return;
      if (!isTold) onWaiting(evaluating.map(({ name }) => name));
      isTold = true;
    } catch (error) {
      if (!isAway(error)) return;
    }
    await sleep(every, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
  }
}
