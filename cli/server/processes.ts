import { ChildProcess, spawn } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { z } from "zod";

/** Where Node tells of every process that it is about to start. */
const CHANNEL = "child_process";
const told = z.object({ process: z.instanceof(ChildProcess) });

/**
 * From now on ends every workerd that this process starts together with this one, as {@link endTogether} does, whoever starts
 * it: Miniflare takes seconds until it says that the runtime is ready, and doesn't tell its process id at all.
 * @returns how to call the guard off.
 */
export function guardRuntimes(): () => void {
  const callOffs: (() => void)[] = [];
  const onProcess = (message: unknown) => {
    const { process: child } = told.parse(message);
    child.once("spawn", () => {
      if (child.pid !== undefined && child.spawnfile.includes("workerd")) callOffs.push(endTogether([child.pid]));
    });
  };
  subscribe(CHANNEL, onProcess);
  return () => {
    unsubscribe(CHANNEL, onProcess);
    for (const callOff of callOffs) callOff();
  };
}

/**
 * Ends these processes when this one ends in any way, kill -9 too: workerd outlives its parent and would go on serving,
 * with its port and its databases. A shell waits on a pipe that breaks when this process is gone.
 * @returns how to call the guard off.
 */
export function endTogether(pids: readonly number[]): () => void {
  if (process.platform === "win32" || pids.length === 0) return () => undefined;
  const guard = spawn("sh", ["-c", 'read -r _; kill -9 "$@"', "lachesis-guard", ...pids.map(String)], {
    stdio: ["pipe", "ignore", "ignore"],
    // Its own group: a signal to ours must not end the guard before its work.
    detached: true,
  });
  guard.unref();
  return () => guard.kill("SIGKILL");
}
