import type { Client } from "../../src/client/client.ts";
import type { EnvironmentOnRecord, History, LeaseOnRecord } from "./checker/history.ts";
import type { Doors } from "./doors.ts";

const PER_PAGE = 1_000;

/** What the server says of itself when all is drained. */
export async function readRecords(
  client: Client,
  doors: Doors,
): Promise<Pick<History, "leases" | "environments" | "payloads" | "payloadsEver">> {
  const { payloads, ever } = await doors.payloads();
  return { leases: await leases(client), environments: await environments(client), payloads, payloadsEver: ever };
}

async function leases(client: Client): Promise<LeaseOnRecord[]> {
  const all: LeaseOnRecord[] = [];
  for (;;) {
    const after = all.at(-1)?.lease ?? 0;
    const page = (await client.leaseRecord({ after, limit: PER_PAGE })).leases;
    for (const { lease_id, env_id, item, attempt, outcome, groups, policy_version, admitted_sequences } of page)
      all.push({
        lease: lease_id,
        environment: env_id,
        item,
        attempt,
        outcome,
        groups,
        policyVersion: policy_version,
        admitted: admitted_sequences,
      });
    if (page.length < PER_PAGE) return all;
  }
}

async function environments(client: Client): Promise<EnvironmentOnRecord[]> {
  return (await client.environments()).environments.map(({ env_id, name, weight, floor, outcomes }) => {
    const dropped = Object.values(outcomes["dropped"] ?? {}).reduce((sum, count) => sum + count, 0);
    return { environment: env_id, name, weight, floor, dropped };
  });
}
