import { closeSync, fsyncSync, mkdirSync, openSync, readFileSync, renameSync, writeSync } from "node:fs";
import { dirname, join } from "node:path";
import { z } from "zod";

const NEWLINE = 0x0a;

/** The first line of the file; the learner's bytes follow. */
const header = z.object({
  format: z.literal("lachesis checkpoint 1"),
  run: z.string(),
  /** The step of the last batch that was learned from. */
  step: z.int(),
  /** The id of that batch, so that it isn't learned from twice if its acknowledgement was lost. */
  batch: z.int().nullable(),
  /** Mean reward of every step so far. */
  rewards: z.array(z.number()),
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.null()])),
});

export type Settings = z.infer<typeof header>["settings"];

export interface Checkpoint extends Omit<z.infer<typeof header>, "format"> {
  /** The learner's own. */
  readonly learner: Uint8Array;
}

/** A checkpoint that can't be gone on from. Its message says why, and how to start afresh. */
export class CheckpointError extends Error {}

/** Where a run's checkpoint is. */
export function checkpointPath(folder: string, run: string): string {
  return join(folder, run, "checkpoint");
}

/** Replaces a run's checkpoint, at once or not at all, whatever happens to this process or the machine meanwhile. */
export function saveCheckpoint(folder: string, { learner, ...rest }: Checkpoint): void {
  const path = checkpointPath(folder, rest.run);
  const first: z.infer<typeof header> = { format: "lachesis checkpoint 1", ...rest };
  mkdirSync(dirname(path), { recursive: true });
  const temporary = `${path}.tmp`;
  const file = openSync(temporary, "w");
  try {
    for (const part of [Buffer.from(`${JSON.stringify(first)}\n`), learner]) {
      for (let at = 0; at < part.length; ) at += writeSync(file, part, at);
    }
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
  renameSync(temporary, path);
}

/**
 * A run's checkpoint, or null if there is none.
 * @throws CheckpointError when the file isn't one.
 */
export function loadCheckpoint(folder: string, run: string): Checkpoint | null {
  const path = checkpointPath(folder, run);
  let bytes: Buffer;
  try {
    bytes = readFileSync(path);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
  const end = bytes.indexOf(NEWLINE);
  try {
    const { format: _, ...rest } = header.parse(JSON.parse(bytes.toString("utf8", 0, Math.max(0, end))));
    return { ...rest, learner: new Uint8Array(bytes.subarray(end + 1)) };
  } catch {
    throw new CheckpointError(`${path} is no checkpoint of this trainer: move it away, or start with --fresh`);
  }
}

/**
 * @throws CheckpointError that says which settings differ from those the checkpoint was made with.
 */
export function assertFits(checkpoint: Checkpoint, folder: string, wanted: Settings): void {
  const names = new Set([...Object.keys(wanted), ...Object.keys(checkpoint.settings)]);
  const differences = [...names].flatMap((name) => {
    const [saved, asked] = [checkpoint.settings[name] ?? null, wanted[name] ?? null];
    return saved === asked ? [] : [`${name} was ${saved ?? "not set"}, now ${asked ?? "not set"}`];
  });
  if (differences.length === 0) return;
  throw new CheckpointError(
    `the checkpoint ${checkpointPath(folder, checkpoint.run)} (step ${checkpoint.step}) was made with other settings: ` +
      `${differences.join("; ")}. Give the settings it was made with to go on, or --fresh to start afresh`,
  );
}
