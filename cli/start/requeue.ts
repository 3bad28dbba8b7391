import type { Client } from "../../src/client/client.ts";

/** Leases a page of the record has. */
const PAGE = 1_000;

/** Puts messages on the queue of an environment's Worker. */
export type Enqueue = (environment: string, messages: readonly unknown[]) => Promise<void>;

/**
 * Local queues live in memory: what was on them when the server ended is lost, but its leases are open still, and would keep
 * others from being given until they expire. So they are put on their environments' queues again.
 * @param client with a token of role environment.
 * @param environments the ones that run here, by name.
 * @returns how many leases there were.
 */
export async function requeue(
  client: Client,
  run: string,
  environments: readonly string[],
  enqueue: Enqueue,
): Promise<number> {
  const names = new Map<number, string>();
  for (const { env_id, name } of (await client.environments()).environments) {
    // The run numbers environments of the same name: gsm8k_0.
    const known = environments.find((environment) => environment === name.replace(/_\d+$/, ""));
    if (known !== undefined) names.set(env_id, known);
  }
  let count = 0;
  for (let after = 0; names.size > 0; ) {
    const { leases } = await client.leaseRecord({ after, limit: PAGE });
    for (const { lease_id, env_id, outcome } of leases) {
      after = lease_id;
      const environment = names.get(env_id);
      if (outcome !== "open" || environment === undefined) continue;
      const renewed = await client.renew(lease_id, {});
      if (renewed.status !== "leased") continue;
      await enqueue(environment, [{ run, lease: renewed.lease }]);
      count += 1;
    }
    if (leases.length < PAGE) break;
  }
  return count;
}
