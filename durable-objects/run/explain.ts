import { explain, type QueueIndex, type Readiness } from "./assembler/index.ts";
import type { Environments } from "./environments.ts";

/** Why no batch is ready, or that one is. Field names are the wire's. */
export interface Explanation {
  readonly reason: Readiness["reason"] | "no_trainer" | "batch_interrupted";
  /** The same in words, for a person. */
  readonly message: string;
  readonly batch_size: number | null;
  readonly queued_groups: number;
  readonly queued_sequences: number;
  /** Sequences without which no batch can be formed; 0 where sequences are not what is missing. */
  readonly missing_sequences: number;
  /** Environments with a floor that has yet to be met. */
  readonly floors: readonly FloorExplanation[];
  /** Queued groups by size, where sizes are what is wrong. */
  readonly sizes: readonly { readonly size: number; readonly groups: number }[];
  /** Sequences that wait in an environment's buffer for its group size to be made up. */
  readonly buffered: readonly { readonly env_id: number; readonly sequences: number; readonly group_size: number }[];
}

export interface FloorExplanation {
  readonly env_id: number;
  readonly name: string;
  readonly floor_sequences: number;
  readonly queued_sequences: number;
  readonly missing_sequences: number;
  /** Seconds since its last poll or group. */
  readonly last_heard_seconds: number;
}

export interface Explained {
  readonly batchSize: number | null;
  readonly floors: ReadonlyMap<number, number>;
  /** Batches that broke off and that nobody is reading. */
  readonly interruptedBatches: number;
  readonly environments: Environments;
  readonly index: QueueIndex;
  readonly buffered: readonly { readonly environment: number; readonly sequences: number }[];
  readonly now: number;
  /** The run that this one is being copied from, while it is. */
  readonly forkedFrom: string | null;
}

/** Puts what the assembler found into the run's words: names, ages, what would help. */
export function explanation(run: Explained): Explanation {
  const { batchSize, index } = run;
  const common = {
    batch_size: batchSize,
    queued_groups: index.groups,
    queued_sequences: index.sequences,
    missing_sequences: 0,
    floors: [],
    sizes: [],
    buffered: run.buffered.map(({ environment, sequences }) => ({
      env_id: environment,
      sequences,
      group_size: run.environments.get(environment)?.groupSize ?? 0,
    })),
  };
  if (batchSize === null) {
    return {
      ...common,
      reason: "no_trainer",
      message:
        run.forkedFrom === null
          ? "no trainer has registered: call POST /register with a batch_size"
          : `the run is being forked from ${run.forkedFrom}: call POST /fork again until it answers "forked"`,
    };
  }
  if (run.interruptedBatches > 0) {
    const message = `${run.interruptedBatches} batch(es) broke off before the last byte left: the next GET /batch gets the first of them again`;
    return { ...common, reason: "batch_interrupted", message };
  }
  const found = explain(index, { batchSize, floors: run.floors });
  switch (found.reason) {
    case "ready":
      return { ...common, reason: "ready", message: "a batch is ready: the next GET /batch gets it" };
    case "too_few_sequences": {
      const { missing_sequences } = found;
      const message = `${missing_sequences} sequences are missing: ${found.queued_sequences} queued of the ${batchSize} of a batch`;
      return { ...common, reason: found.reason, message, missing_sequences };
    }
    case "floor_unmet": {
      const floors = found.floors.map((floor) => explainFloor(run, floor));
      const missing_sequences = floors.reduce((sum, floor) => sum + floor.missing_sequences, 0);
      return { ...common, reason: found.reason, message: floors.map(inWords).join("; "), missing_sequences, floors };
    }
    case "sizes_do_not_add_up": {
      const floors = found.floors.map((floor) => explainFloor(run, { ...floor, missing_sequences: 0 }));
      const sizes = found.sizes.map(({ size, groups }) => `${groups} of ${size}`).join(", ");
      const closest = found.largest_sum === null ? "" : ` (the closest is ${found.largest_sum})`;
      const cause = floors.length > 0 ? " together with the environments' floors" : "";
      const message = `the queued group sizes${cause} can't add up to exactly ${batchSize}${closest}: ${sizes} sequences`;
      return { ...common, reason: found.reason, message, floors, sizes: found.sizes };
    }
  }
}

interface FloorCounts {
  readonly environment: number;
  readonly floor_sequences: number;
  readonly queued_sequences: number;
  readonly missing_sequences: number;
}

function explainFloor(run: Explained, { environment: env_id, ...counts }: FloorCounts): FloorExplanation {
  const environment = run.environments.get(env_id);
  const last_heard_seconds = Math.round((run.now - (environment?.lastHeard ?? run.now)) / 1000);
  return { env_id, name: environment?.wandbName ?? `${env_id}`, ...counts, last_heard_seconds };
}

function inWords(floor: FloorExplanation): string {
  return (
    `environment ${floor.name} (env_id ${floor.env_id}) has a floor of ${floor.floor_sequences} sequences a batch and ` +
    `${floor.queued_sequences} queued; last heard from ${floor.last_heard_seconds} s ago, its floor ends after 60 s of silence`
  );
}
