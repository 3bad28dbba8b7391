import type { Counts } from "../counts.ts";
import { pause } from "../random.ts";
import { BATCH_LEASE_SECONDS } from "../scene.ts";
import { giveBack, takeInSlices, takeWhole } from "./takes.ts";
import type { Wire } from "./wire.ts";

/** What a trainer does with a batch, each as often as its number says. */
const PLANS = {
  acknowledge: 70,
  release: 8,
  /** It trains, dies before its ack, and starts again. */
  crash: 8,
  /** Its ack comes when the lease is over. */
  acknowledge_late: 6,
  /** Two of its processes acknowledge. */
  acknowledge_twice: 8,
} as const;

export interface TrainerOptions {
  readonly wire: Wire;
  /** Processes that take a batch in slices; 1 takes it whole. */
  readonly ranks: number;
  /** Whether it says which hold it ends, or its name alone. */
  readonly saysHold: boolean;
  readonly counts: Counts;
  readonly isOn: () => boolean;
  /** Whether it does all that can go wrong, or trains and acknowledges alone. */
  readonly isWild: () => boolean;
}

/** Takes batches under leases and acknowledges them, most of the time. */
export async function train(options: TrainerOptions): Promise<void> {
  while (options.isOn()) await trainOnce(options);
}

/** Returns whether there was a batch. */
export async function trainOnce({ wire, ranks, saysHold, counts, isWild }: TrainerOptions): Promise<boolean> {
  const { random, client } = wire;
  const wait = isWild() ? 1 : 0;
  const taken = await (ranks === 1 ? takeWhole(wire, wait) : takeInSlices(wire, ranks, wait));
  if (taken === null) {
    await pause(random.between(20, 100));
    return false;
  }
  const { id, step, hold } = taken;
  const plan = isWild() ? random.pick(PLANS) : "acknowledge";
  counts.add(`trainer_${plan}`);
  const acknowledge = async () => {
    const ack = { step, metrics: { loss: 1 / step }, trainer: client, ...(saysHold ? { hold } : {}) };
    const { status } = await wire.insist("POST", `/batches/${id}/ack`, { body: ack });
    if (status === 200 && random.chance(0.7)) await wire.ask("POST", "/policy", { body: { version: step } });
  };
  if (isWild()) await pause(random.between(150, 350));
  switch (plan) {
    case "acknowledge":
      await acknowledge();
      break;
    case "acknowledge_twice":
      await Promise.all([acknowledge(), acknowledge()]);
      break;
    case "acknowledge_late":
      await pause(BATCH_LEASE_SECONDS * 1000 + 200);
      await acknowledge();
      break;
    case "release":
      await giveBack(wire, id);
      break;
    case "crash":
      await pause(random.between(50, 300));
  }
  return true;
}
