import { z } from "zod";
import type { Client } from "../../src/client/client.ts";
import type { Rewind, ServedBatch } from "./checker/history.ts";
import type { Doors } from "./doors.ts";
import { KEEP_STEPS } from "./scene.ts";
import type { ChaosServer } from "./server/server.ts";
import { settings } from "./setup.ts";

export interface RewindOptions {
  readonly client: Client;
  readonly server: ChaosServer;
  readonly doors: Doors;
  readonly deduplicate: boolean;
}

const group = z.looseObject({ chaos: z.string() });
/** Longer than all of this takes. */
const LEASE_SECONDS = 300;

/** A trainer goes back as far as it can, the server is killed, and the Run is evicted after each batch that comes again. */
export async function rewind({ client, server, doors, deduplicate }: RewindOptions): Promise<Rewind> {
  const { current_step } = await client.overview();
  const step = Math.max(0, current_step - KEEP_STEPS);
  await client.registerTrainer({ ...settings(deduplicate), resume_from_step: step });
  await server.kill();
  await server.start();
  const batches: ServedBatch[] = [];
  for (;;) {
    const taken = await client.takeBatch({ lease: LEASE_SECONDS, wait: 0 });
    if (taken === null) return { step, batches };
    batches.push({
      batch: taken.id,
      step: taken.step,
      groups: taken.groups.map((one) => group.parse(one).chaos),
    });
    await doors.evictRun();
    await client.acknowledge(taken.id, { step: taken.step, hold: taken.hold });
  }
}
