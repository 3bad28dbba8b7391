import type { Counts } from "./counts.ts";
import { pause, type Random } from "./random.ts";
import { PAYLOAD_SHARDS } from "./scene.ts";
import type { ChaosServer } from "./server/server.ts";

/** What it does, each as often as its number says. */
const ACTS = { kill: 12, evict_run: 40, evict_shard: 48 } as const;

const SHORTEST_LIFE_MS = 3_000;

export interface NemesisOptions {
  readonly server: ChaosServer;
  readonly url: URL;
  readonly random: Random;
  readonly counts: Counts;
  readonly isOn: () => boolean;
}

/** Kills the server and evicts its objects. When it returns the server is up. */
export async function haunt({ server, url, random, counts, isOn }: NemesisOptions): Promise<void> {
  let startedAt = performance.now();
  for (;;) {
    await pause(random.between(200, 1_000));
    if (!isOn()) return;
    const act = random.pick(ACTS);
    const shard = random.integer(0, PAYLOAD_SHARDS - 1);
    if (act === "kill") {
      if (performance.now() - startedAt < SHORTEST_LIFE_MS) continue;
      counts.add("kills");
      await server.kill();
      await pause(random.between(0, 400));
      await server.start();
      startedAt = performance.now();
    } else {
      const object = act === "evict_run" ? "run" : shard;
      await fetch(new URL(`/__chaos/?action=evict&object=${object}`, url)).catch(() => undefined);
    }
  }
}
