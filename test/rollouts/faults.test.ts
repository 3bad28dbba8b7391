import { expect, test } from "vitest";
import { MAX_ATTEMPTS, retryDelaySeconds } from "../../environments/kit/worker/attempts.ts";
import { Client } from "../../src/client/client.ts";
import { cleanUp } from "./support/clean-up.ts";
import { EnvironmentFolder } from "./support/environment-folder.ts";
import { type InferenceSocket, type InferenceSocketOptions, startInference } from "./support/inference-socket.ts";
import { KillableServer } from "./support/killable-server.ts";
import { train } from "./support/trainer.ts";

/** Servers that are killed and endpoints that fail: no group twice, no item skipped, failures counted. */

const STEPS = 24;
const KILLS = 3;
const LEASE_SECONDS = 16;

/** What the lease of a rollout that fails every time may last: one term for each attempt, and the pauses between. */
const LONGEST_LEASE_MS =
  1000 *
  Array.from({ length: MAX_ATTEMPTS }, (_, index) => LEASE_SECONDS + retryDelaySeconds(index + 1, 1)).reduce(
    (sum, seconds) => sum + seconds,
  );

async function inference(options: InferenceSocketOptions = {}): Promise<InferenceSocket> {
  const socket = await startInference(options);
  cleanUp(() => socket.close());
  return socket;
}

/** A fault for every other completion. */
function halfOfThem() {
  let calls = 0;
  return (path: string) => {
    if (!path.endsWith("/completions")) return null;
    calls += 1;
    return calls % 2 === 0 ? Response.json({ error: { message: "out of memory" } }, { status: 500 }) : null;
  };
}

const delay = (ms: number) => new Promise<void>((resolve) => setTimeout(resolve, ms));

test("queue consumers killed in the middle of groups, one endpoint that fails half of its calls and one that hangs", {
  timeout: 300_000,
}, async () => {
  const folder = new EnvironmentFolder();
  cleanUp(() => folder.remove());
  const settings = { group_size: 2, lease_seconds: LEASE_SECONDS, rollout_timeout_seconds: 1, max_tokens: 8 };
  const server = new KillableServer([folder.add("faulty", settings)], folder.names);
  cleanUp(() => server.remove());
  const [good, flaky, hanging] = [
    // Slow enough to be caught in the middle.
    await inference({ hold: () => delay(100) }),
    await inference({ fault: halfOfThem() }),
    await inference({ fault: (path) => (path.endsWith("/completions") ? "hang" : null) }),
  ];
  const client = new Client({ url: await server.start(), attempts: 8 });
  const run = { batch_size: 8, max_token_len: 4096, num_steps: STEPS, max_batches_offpolicy: 4 };
  await client.registerTrainer(run);
  const endpoints = [good, flaky, hanging].map(({ url }) => ({ url, model: "toy" }));
  await client.publish({ endpoints });

  // The first leases name all three alike.
  const isHealthy = async () => (await client.policy()).endpoints.find(({ url }) => url === hanging.url)?.healthy;
  await expect.poll(isHealthy, { timeout: LONGEST_LEASE_MS }).toBe(false);
  let kills = 0;
  const batches = await train(client, STEPS, async ({ step }) => {
    if (step % 6 !== 0 || kills === KILLS) return;
    kills += 1;
    // Groups are under way at the endpoint that answers.
    await expect.poll(() => good.open, { interval: 5, timeout: LONGEST_LEASE_MS }).toBeGreaterThan(0);
    await server.kill();
    await server.start();
  });
  expect(kills).toBe(KILLS);

  const items = batches.flatMap(({ groups }) => groups.map(({ item }) => item));
  expect(new Set(items).size).toBe(items.length);
  expect(items).toHaveLength(STEPS * 4);

  // When all leases have ended, each item that was ever drawn has ended in exactly one way, apart from leases that were lost.
  const openLeases = async () => (await client.overview()).admission.open_leases;
  await expect.poll(openLeases, { timeout: LONGEST_LEASE_MS }).toBe(0);
  const { leases } = await client.leaseRecord();
  const ends = Map.groupBy(
    leases.filter(({ outcome }) => outcome !== "expired"),
    ({ item }) => item,
  );
  const [report] = (await client.environments()).environments;
  const waiting = report?.backlog_items ?? 0;
  const drawn = report?.next_item ?? 0;
  expect([...ends.values()].filter((found) => found.length > 1)).toEqual([]);
  expect(ends.size + waiting).toBe(drawn);
  expect(Math.max(...leases.map(({ item }) => item ?? 0))).toBe(drawn - 1);
  const submitted = leases.filter(({ outcome }) => outcome === "submitted").map(({ item }) => item);
  expect(items.filter((item) => !submitted.includes(item))).toEqual([]);

  const outcomes = report?.outcomes ?? {};
  const failures = { ...outcomes["retried"], ...outcomes["failed"] };
  expect(Object.keys(failures)).toContain("timeout");
  const load = [good, flaky, hanging].map(({ fake }) => fake.sampled.length);
  const [ofGood = 0, ofFlaky = 0, ofHanging] = load;
  expect(ofHanging).toBe(0);
  expect(Math.min(ofGood, ofFlaky)).toBeGreaterThan(0);
  expect(ofGood + ofFlaky).toBeGreaterThanOrEqual(items.length * 2);
});
