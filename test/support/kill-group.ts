import type { ChildProcess } from "node:child_process";
import { once } from "node:events";

/** kill -9 of a process that leads a group of its own, and of all in that group. Resolves when it is gone. */
export async function killGroup(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const gone = once(child, "exit");
  process.kill(-child.pid, "SIGKILL");
  await gone;
}
