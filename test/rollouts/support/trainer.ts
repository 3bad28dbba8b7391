import { z } from "zod";
import { type Client, ClientError } from "../../../src/client/client.ts";
import { origin } from "./conversation.ts";

const group = origin.extend({
  tokens: z.array(z.array(z.int())),
  policy_versions: z.array(z.array(z.tuple([z.int().nullable(), z.int()]))),
});

export interface TakenGroup {
  readonly environment: string;
  readonly item: number;
  readonly sequences: number;
  /** The oldest version that sampled any of its tokens. */
  readonly version: number;
}

export interface TakenBatch {
  readonly id: number;
  readonly step: number;
  readonly groups: readonly TakenGroup[];
}

/**
 * Takes batches and acknowledges them, one after the other, until `steps` are done. A server that is away is asked again.
 * What an id held is remembered: one that comes twice must hold the same.
 */
export async function train(
  client: Client,
  steps: number,
  learn: (batch: TakenBatch) => Promise<void> = async () => undefined,
): Promise<TakenBatch[]> {
  const batches = new Map<number, TakenBatch>();
  const acknowledged = new Set<number>();
  while (acknowledged.size < steps) {
    try {
      const taken = await client.takeBatch({ lease: 5, wait: 2 });
      if (taken === null) continue;
      const batch = { id: taken.id, step: taken.step, groups: taken.groups.map(read) };
      const before = batches.get(batch.id);
      if (before !== undefined && JSON.stringify(before) !== JSON.stringify(batch))
        throw new Error(`batch ${batch.id} came again with other groups`);
      batches.set(batch.id, batch);
      await learn(batch);
      await client.acknowledge(batch.id, { step: batch.step, hold: taken.hold });
      acknowledged.add(batch.id);
    } catch (error) {
      if (!(error instanceof ClientError) || (error.status !== 0 && error.status < 500)) throw error;
    }
  }
  return [...batches.values()];
}

function read(value: unknown): TakenGroup {
  const { environment, item, tokens, policy_versions } = group.parse(value);
  const versions = policy_versions.flat().flatMap(([version]) => (version === null ? [] : [version]));
  return { environment, item, sequences: tokens.length, version: Math.min(...versions) };
}
