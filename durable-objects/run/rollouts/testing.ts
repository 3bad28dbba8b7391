import type { SmallGroup } from "../../payload-shard/durable-object.ts";
import { freshRun, PLAIN, REGISTRATION, type RunStub } from "../../testing.ts";
import type { NewEnvironment } from "../environments.ts";
import { DEFAULT_LEASING, type Leasing } from "../leasing.ts";

/** What tests of rollout leases share. */

export { later, toldOf } from "../../testing.ts";

export const ENDPOINT = {
  url: "http://gpu-0",
  model: "m",
  backend: "vllm" as const,
  secret: null,
  max_training_requests: 512,
  max_evaluation_requests: 64,
};

export function environment(
  key: string,
  leasing: Partial<Leasing> = {},
  rest: Partial<NewEnvironment> = {},
): NewEnvironment {
  const common = { name: key, label: null, maxTokenLength: 64, groupSize: 2, weight: 1, floor: null, key };
  return { ...common, leasing: { ...DEFAULT_LEASING, leaseSequences: 2, leaseSeconds: 60, ...leasing }, ...rest };
}

/** A run with a trainer (batches of 4, 3 of them under way at most), one endpoint and one environment. */
export async function ready(settings: Partial<typeof REGISTRATION> = {}, leasing: Partial<Leasing> = {}) {
  const { run, shard } = freshRun();
  await run.register({ ...REGISTRATION, ...settings });
  await run.publishPolicy(null, [ENDPOINT]);
  await run.registerEnvironment(environment("math", leasing));
  return { run, shard };
}

export function group(lease: number | null, sequences = 2): SmallGroup {
  const row = new TextEncoder().encode("{}");
  return { environment: 0, sequences, tokens: 6, ...PLAIN, lease, row, bytes: row.length };
}

export async function lease(run: RunStub, count = 1, id = 0) {
  const answer = await run.leaseRollouts(id, count, 0);
  if (answer.status === "unknown_environment" || answer.status === "another_environment")
    throw new Error("no such environment");
  return answer;
}

export async function leased(run: RunStub, count = 1, id = 0) {
  return (await lease(run, count, id)).leases;
}

export async function only(run: RunStub, id = 0) {
  const [first] = await leased(run, 1, id);
  if (first === undefined) throw new Error("no lease was given");
  return first;
}

export async function take(run: RunStub, leaseMs = 0): Promise<number | string> {
  using taken = await run.takeBatch(0, { leaseMs });
  return taken.status === "batch" ? taken.batch.id : taken.status;
}

/** Takes a batch under a lease, and reads it to its end. */
export async function arrive(run: RunStub): Promise<void> {
  using taken = await run.takeBatch(0, { leaseMs: 60_000 });
  if (taken.status !== "batch") throw new Error(`no batch: ${taken.status}`);
  await run.delivered(taken.batch.id);
}

export async function outcomes(run: RunStub, id = 0) {
  return (await run.listEnvironments(-1, 100)).find(({ env_id }) => env_id === id)?.outcomes;
}

/** Hands out and delivers that many batches of groups that came without a lease. */
export async function pass({ run, shard }: Awaited<ReturnType<typeof ready>>, steps: number): Promise<void> {
  for (let step = 0; step < steps; step++) {
    await shard.submit([group(null), group(null)]);
    await run.delivered(Number(await take(run)));
  }
}
