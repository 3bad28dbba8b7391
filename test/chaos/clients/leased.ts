import { z } from "zod";
import { pause } from "../random.ts";
import { ROLLOUT_LEASE_SECONDS } from "../scene.ts";
import type { EnvironmentClient } from "./client.ts";
import { FILTERED_SHARE, makeGroup } from "./groups.ts";
import { Repeats } from "./repeats.ts";

const answer = z.object({
  leases: z.array(z.object({ lease_id: z.int(), group_size: z.int(), policy_version: z.int() })),
});
type Lease = z.infer<typeof answer>["leases"][number];

/** What a client does with a lease, each as often as its number says. */
const PLANS = {
  submit: 55,
  renew_and_submit: 9,
  follow_up_and_submit: 8,
  skip: 6,
  fail: 5,
  /** It is never heard of again. */
  abandon: 7,
  /** The groups come when the lease is over. */
  submit_late: 6,
  /** The groups and the word that there are none come at once: one of them counts. */
  submit_and_skip: 4,
} as const;

/** Leases a client has at a time. */
const AT_A_TIME = 4;

/** Works by rollout leases. */
export async function submitLeased(client: EnvironmentClient): Promise<void> {
  const { wire, environment, isOn } = client;
  const repeats = new Repeats(wire);
  const underWay = new Set<Promise<void>>();
  while (isOn()) {
    if (underWay.size >= AT_A_TIME) await Promise.race(underWay);
    // Not asked twice: what an unheard answer leased ends by itself.
    const body = { env_id: environment, count: wire.random.integer(1, 2), wait: 1 };
    const heard = await wire.ask("POST", "/leases", { body });
    if (heard?.status !== 200) {
      await pause(wire.random.between(30, 200));
      continue;
    }
    for (const lease of answer.parse(JSON.parse(heard.body)).leases) {
      const work = use(client, repeats, lease);
      underWay.add(work);
      void work.finally(() => underWay.delete(work));
    }
  }
  await Promise.all(underWay);
  await repeats.again();
}

async function use(client: EnvironmentClient, repeats: Repeats, lease: Lease): Promise<void> {
  const { wire, scene } = client;
  const { random } = wire;
  const path = `/leases/${lease.lease_id}`;
  const skip = () => wire.insist("POST", `${path}/close`, { body: { outcome: "skipped", reason: "equal_scores" } });
  const groups = random.integer(1, Math.floor(scene.leaseSequences / scene.groupSize));
  const plan = random.pick(PLANS);
  await pause(random.between(10, 300));
  switch (plan) {
    case "submit":
      return submit(client, repeats, lease, groups);
    case "renew_and_submit":
      await wire.ask("POST", `${path}/renew`, { body: { failure: null } });
      await pause(random.between(10, 300));
      return submit(client, repeats, lease, groups);
    case "follow_up_and_submit":
      await wire.ask("POST", `${path}/backlog`, { body: { items: [{ after: lease.lease_id }] } });
      return submit(client, repeats, lease, groups);
    case "skip":
      await skip();
      return;
    case "fail":
      await wire.insist("POST", `${path}/close`, { body: { outcome: "failed", reason: "out_of_luck" } });
      return;
    case "abandon":
      return;
    case "submit_late":
      await pause(ROLLOUT_LEASE_SECONDS * 1000 + random.between(-200, 1_000));
      return submit(client, repeats, lease, groups);
    case "submit_and_skip":
      await Promise.all([submit(client, repeats, lease, groups), skip()]);
  }
}

async function submit(client: EnvironmentClient, repeats: Repeats, lease: Lease, count: number): Promise<void> {
  const { wire, environment, scene } = client;
  const groups = Array.from({ length: count }, (_, index) =>
    makeGroup({
      id: `${wire.client}/lease ${lease.lease_id}/${index}`,
      environment,
      sequences: lease.group_size,
      tokens: scene.tokens,
      policyVersion: lease.policy_version,
      saysVersion: false,
      isFiltered: wire.random.chance(FILTERED_SHARE),
    }),
  );
  const serial = wire.recorder.submit({
    client: wire.client,
    environment,
    identity: `lease ${lease.lease_id}`,
    groups: groups.map(({ sent }) => sent),
  });
  await repeats.submit("/scored_data_list", {
    body: groups.map(({ body }) => body),
    headers: { "lachesis-lease": `${lease.lease_id}` },
    serial,
  });
}
