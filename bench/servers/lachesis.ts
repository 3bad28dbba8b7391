/** Lachesis as `npm start` runs it: durable, with a fresh state on the disk its users would have it on. */
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { freePort, type Server, startServer } from "./server.ts";

export async function startLachesis(root: string): Promise<Server> {
  const port = await freePort();
  const state = join(root, ".lachesis/bench-state");
  const removeState = () => rm(state, { recursive: true, force: true });
  await removeState();
  const args = [join(root, "cli/main.ts"), "start", "--api-only", "--port", String(port), "--state", state];
  const log = join(root, ".lachesis/bench-lachesis.log");
  const server = await startServer("Lachesis", process.execPath, args, { port, cwd: root, log });
  return {
    ...server,
    stop: async () => {
      await server.stop();
      await removeState();
    },
  };
}
