import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { assertFree } from "./lock.ts";

/** Where the reference trainer keeps its checkpoints, in the state folder. */
const CHECKPOINTS = "trainer";

/** All that --fresh forgets: the objects' databases and the trainer's checkpoints. Whatever else is in the folder stays. */
const FORGOTTEN = ["do", "cache", CHECKPOINTS];

export interface State {
  readonly folder: string;
  readonly checkpoints: string;
  /** As it is called in messages. */
  readonly name: string;
  /** Removes it if it was a temporary one. */
  close(): void;
}

/**
 * Opens a state folder.
 * @param name null for a temporary one.
 * @throws UsageError when a server runs on it.
 */
export async function openState(name: string | null, fresh: boolean): Promise<State> {
  if (name === null) {
    const folder = mkdtempSync(join(tmpdir(), "lachesis-"));
    const close = () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
    return { folder, checkpoints: join(folder, CHECKPOINTS), name: folder, close };
  }
  const folder = resolve(name);
  await assertFree(folder);
  if (fresh) for (const part of FORGOTTEN) rmSync(join(folder, part), { recursive: true, force: true });
  return { folder, checkpoints: join(folder, CHECKPOINTS), name, close: () => undefined };
}
