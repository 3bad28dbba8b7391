import { type Client, ClientError } from "../../src/client/client.ts";
import type { AckAnswer, Rewind, ServedBatch } from "./checker/history.ts";
import { contents } from "./digest.ts";
import type { Doors } from "./doors.ts";
import { KEEP_STEPS } from "./scene.ts";
import type { ChaosServer } from "./server/server.ts";
import { settings } from "./setup.ts";

export interface RewindOptions {
  readonly client: Client;
  readonly server: ChaosServer;
  readonly doors: Doors;
  readonly deduplicate: boolean;
  /** What trainers said before. */
  readonly acks: readonly AckAnswer[];
}

/** Longer than all of this takes. */
const LEASE_SECONDS = 300;

/**
 * A trainer goes back as far as it can, acks of its earlier life come late, the server is killed, and the Run is evicted after
 * each batch that comes again.
 */
export async function rewind({ client, server, doors, deduplicate, acks }: RewindOptions): Promise<Rewind> {
  const { current_step } = await client.overview();
  const step = Math.max(0, current_step - KEEP_STEPS);
  await client.registerTrainer({ ...settings(deduplicate), resume_from_step: step });
  for (const { batch, trainer } of acks.slice(-KEEP_STEPS)) await tooLate(client, batch, trainer);
  await server.kill();
  await server.start();
  const batches: ServedBatch[] = [];
  for (;;) {
    const taken = await client.takeBatch({ lease: LEASE_SECONDS, wait: 0 });
    if (taken === null) return { step, batches };
    batches.push({
      batch: taken.id,
      step: taken.step,
      groups: taken.groups.map((group) => contents.parse(group).chaos),
    });
    await doors.evictRun();
    await client.acknowledge(taken.id, { step: taken.step, hold: taken.hold });
  }
}

/** Whether it was too late shows in what comes again. */
async function tooLate(client: Client, batch: number, trainer: string): Promise<void> {
  await client.acknowledge(batch, { trainer }).catch((error: unknown) => {
    if (!(error instanceof ClientError) || error.status !== 409) throw error;
  });
}
