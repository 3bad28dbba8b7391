import { execFileSync, spawn } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";

/** Process ids of the workerd processes that this process started. */
export function runtimePids(): number[] {
  const all = process.platform === "linux" ? fromProc() : fromPs();
  return all
    .filter(({ parent, command }) => parent === process.pid && command.includes("workerd"))
    .map(({ pid }) => pid);
}

interface Process {
  readonly pid: number;
  readonly parent: number;
  readonly command: string;
}

function fromProc(): Process[] {
  return readdirSync("/proc").flatMap((name) => {
    if (!/^\d+$/.test(name)) return [];
    try {
      const stat = readFileSync(`/proc/${name}/stat`, "utf8");
      // pid (command) state parent …, where the command may hold anything, parentheses too.
      const parent = Number(
        stat
          .slice(stat.lastIndexOf(")") + 1)
          .trim()
          .split(" ")[1],
      );
      return [{ pid: Number(name), parent, command: stat.slice(stat.indexOf("(") + 1, stat.lastIndexOf(")")) }];
    } catch {
      return [];
    }
  });
}

function fromPs(): Process[] {
  const lines = execFileSync("ps", ["-axo", "pid=,ppid=,comm="], { encoding: "utf8" }).trim().split("\n");
  return lines.map((line) => {
    const [pid, parent, ...command] = line.trim().split(/\s+/);
    return { pid: Number(pid), parent: Number(parent), command: command.join(" ") };
  });
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
