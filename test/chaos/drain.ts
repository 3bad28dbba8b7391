import type { Client } from "../../src/client/client.ts";
import { makeGroup } from "./clients/groups.ts";
import { type TrainerOptions, trainOnce } from "./clients/trainer.ts";
import type { Wire } from "./clients/wire.ts";
import type { Doors } from "./doors.ts";
import { pause } from "./random.ts";
import { BATCH_SIZE } from "./scene.ts";

export interface DrainOptions {
  readonly client: Client;
  readonly doors: Doors;
  readonly environments: Iterable<number>;
  readonly trainers: readonly TrainerOptions[];
  /** Sends groups that fill up the last batch. */
  readonly filler: Wire;
}

const WITHIN_MS = 90_000;

/** In a submission: no environment. */
export const NO_ENVIRONMENT = -1;

/**
 * Takes out all that the run holds, without faults. Returns the last step at which all environments were alive.
 * @throws when something stays.
 */
export async function drain({ client, doors, environments, trainers, filler }: DrainOptions): Promise<number> {
  await doors.wakeShards();
  const deadline = performance.now() + WITHIN_MS;
  const { current_step: lastBusyStep } = await client.overview();
  // Their floors end, and what they have buffered is queued.
  for (const id of environments) await client.disconnectEnvironment(id);
  for (let number = 0; ; ) {
    while ((await Promise.all(trainers.map(trainOnce))).includes(true));
    const { queue_size, explain, admission, ...overview } = await client.overview();
    const isHeld = admission.open_leases > 0 || overview["open_batches"] !== 0;
    if (queue_size === 0 && !isHeld) return lastBusyStep;
    if (performance.now() > deadline) throw new Error(`the run is not empty: ${explain.message}`);
    if (isHeld) {
      await pause(100);
      continue;
    }
    const missing = BATCH_SIZE - (explain.queued_sequences % BATCH_SIZE);
    for (let more = 0; more < missing; more++) await fill(filler, number++);
  }
}

async function fill(wire: Wire, number: number): Promise<void> {
  const { body, sent } = makeGroup({
    id: `${wire.client}/${number}`,
    environment: null,
    sequences: 1,
    tokens: 4,
    policyVersion: null,
    saysVersion: false,
    isFiltered: false,
  });
  const { client } = wire;
  const serial = wire.recorder.submit({ client, environment: NO_ENVIRONMENT, identity: null, groups: [sent] });
  await wire.insist("POST", "/scored_data", { body, serial });
}
