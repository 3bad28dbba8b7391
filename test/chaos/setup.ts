import type { Client, TrainerSettings } from "../../src/client/client.ts";
import {
  BATCH_SIZE,
  ENVIRONMENTS,
  type EnvironmentScene,
  KEEP_STEPS,
  MAX_BATCHES_OFFPOLICY,
  MAX_MEAN_SCORE,
  MAX_STALENESS,
  PAYLOAD_SHARDS,
  ROLLOUT_LEASE_SECONDS,
} from "./scene.ts";

/** What the trainers register with. */
export function settings(deduplicate: boolean): TrainerSettings {
  return {
    batch_size: BATCH_SIZE,
    max_token_len: 1_000,
    num_steps: 1_000_000,
    save_checkpoint_interval: KEEP_STEPS,
    keep_steps: KEEP_STEPS,
    mixing: "weighted",
    payload_shards: PAYLOAD_SHARDS,
    max_batches_offpolicy: MAX_BATCHES_OFFPOLICY,
    max_staleness: MAX_STALENESS,
    filters: { max_mean_score: MAX_MEAN_SCORE },
    deduplicate,
  };
}

/** Registers the trainer and the environments. Returns the environments' ids. */
export async function setUp(client: Client, deduplicate: boolean): Promise<Map<EnvironmentScene, number>> {
  await client.registerTrainer(settings(deduplicate));
  await client.publish({ endpoints: [{ url: "http://inference:8000", model: "none", max_training_requests: 10_000 }] });
  const ids = new Map<EnvironmentScene, number>();
  for (const scene of ENVIRONMENTS) {
    const registered = await client.registerEnvironment({
      desired_name: scene.name,
      key: scene.name,
      max_token_length: 1_000,
      group_size: scene.groupSize,
      weight: scene.weight,
      min_batch_allocation: scene.floor,
      lease_sequences: scene.leaseSequences,
      lease_seconds: ROLLOUT_LEASE_SECONDS,
    });
    if (registered.status !== "success") throw new Error(`${scene.name} could not register`);
    ids.set(scene, registered.env_id);
  }
  return ids;
}
