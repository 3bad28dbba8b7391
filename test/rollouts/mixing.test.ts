import { expect, test } from "vitest";
import { startServer } from "../../cli/server/local-server.ts";
import { Client, type TrainerSettings } from "../../src/client/client.ts";
import { cleanUp } from "./support/clean-up.ts";
import { EnvironmentFolder } from "./support/environment-folder.ts";
import { startInference } from "./support/inference-socket.ts";
import { type TakenBatch, train } from "./support/trainer.ts";

/** Several environments feed one run: shares, floors, the admission bound, staleness. */

interface Loop {
  readonly environments: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  readonly settings: Omit<TrainerSettings, "max_token_len" | "num_steps">;
  readonly steps: number;
  /** Whether the trainer waits until all that may be generated is queued. */
  readonly slowTrainer?: boolean;
}

/** Trains so many steps; after each the policy that the inference server speaks of is the one of that step. */
async function run({
  environments,
  settings,
  steps,
  slowTrainer = false,
}: Loop): Promise<{ client: Client; batches: TakenBatch[] }> {
  const inference = await startInference();
  cleanUp(() => inference.close());
  const folder = new EnvironmentFolder();
  cleanUp(() => folder.remove());
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    state: null,
    variables: { ALLOW_ANONYMOUS: "true" },
    environments: Object.entries(environments).map(([name, config]) => folder.add(name, config)),
    onLog: () => undefined,
  });
  cleanUp(() => server.stop());
  const client = new Client({ url: server.url });
  await client.registerTrainer({ ...settings, max_token_len: 4096, num_steps: steps });
  server.startCrons();
  // Nobody begins before all are there: who comes late finds the run full with the others' groups.
  const everybody = Object.keys(environments).length;
  await expect.poll(async () => (await client.overview()).admission["waiting_environments"]).toBe(everybody);
  await client.publish({ version: 0, endpoints: [{ url: inference.url, model: "toy" }] });
  const batches = await train(client, steps, async ({ step }) => {
    inference.fake.version = step;
    await client.publish({ version: step });
    // Mixing chooses among what is queued: a trainer that is faster than the environments leaves it no choice.
    if (slowTrainer && step < steps)
      await expect.poll(async () => (await client.overview()).admission.leased_sequences).toBe(0);
  });
  return { client, batches };
}

/** Queued and leased sequences at the moments when they grew, as the run recorded them. */
async function admitted(client: Client): Promise<number[]> {
  const { leases } = await client.leaseRecord();
  expect(leases.length).toBeGreaterThan(10);
  return leases.map(({ admitted_sequences }) => admitted_sequences);
}

function sequencesOf({ groups }: TakenBatch, environment: string): number {
  return groups.reduce((sum, group) => sum + (group.environment === environment ? group.sequences : 0), 0);
}

test("two environments with weights and a floor: shares, floor and the admission bound hold", async () => {
  const { client, batches } = await run({
    environments: {
      heavy: { group_size: 2, weight: 3 },
      light: { group_size: 2, weight: 1, floor: 0.25 },
    },
    settings: { batch_size: 16, mixing: "weighted", max_batches_offpolicy: 2 },
    steps: 20,
    slowTrainer: true,
  });
  for (const batch of batches) expect(sequencesOf(batch, "light"), `batch ${batch.id}`).toBeGreaterThanOrEqual(4);
  const share = batches.reduce((sum, batch) => sum + sequencesOf(batch, "heavy"), 0) / (20 * 16);
  // What one owes the other is bounded, so over so few batches the share is near 3/4 and not at it.
  expect(share).toBeGreaterThan(0.6);
  expect(share).toBeLessThanOrEqual(0.75);
  expect(Math.max(...(await admitted(client)))).toBeLessThanOrEqual(32);
  // The bound is reached, so it was the bound that held.
  expect(Math.max(...(await admitted(client)))).toBe(32);
});

test("with four environments pushing, staleness stays within the bound", async () => {
  const bound = 2;
  const names = ["one", "two", "three", "four"];
  const { client, batches } = await run({
    environments: Object.fromEntries(names.map((name, index) => [name, { group_size: 2, weight: 1 + index }])),
    settings: { batch_size: 8, max_batches_offpolicy: 3, max_staleness: bound },
    steps: 20,
  });
  const staleness = batches.flatMap(({ step, groups }) => groups.map(({ version }) => step - 1 - version));
  expect(Math.max(...staleness)).toBeLessThanOrEqual(bound);
  expect(Math.min(...staleness)).toBeGreaterThanOrEqual(0);
  expect(Math.max(...(await admitted(client)))).toBeLessThanOrEqual(24);
  const came = new Set(batches.flatMap(({ groups }) => groups.map(({ environment }) => environment)));
  expect([...came].toSorted()).toEqual(names.toSorted());
});
