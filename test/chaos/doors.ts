import { z } from "zod";
import type { StoredPayload } from "./checker/history.ts";
import { pause } from "./random.ts";
import { PAYLOAD_SHARDS } from "./scene.ts";

const known = z.object({ known: z.array(z.string()) });
const stored = z.object({ stored: z.array(z.int()), ever: z.int() });

const TRIES = 20;

/** The doors that the campaign's entry alone has. */
export class Doors {
  readonly #url: URL;

  constructor(url: URL) {
    this.#url = url;
  }

  async stopCommitFaults(): Promise<void> {
    await this.#open("faults", "run");
  }

  /** Has the shards do what their alarms would: send again what was never confirmed. */
  async wakeShards(): Promise<void> {
    for (let shard = 0; shard < PAYLOAD_SHARDS; shard++) await this.#open("work", shard);
  }

  async evictRun(): Promise<void> {
    await this.#open("evict", "run");
  }

  /** Has the Run let go of payloads. */
  async wakeRun(): Promise<void> {
    await this.#open("work", "run");
  }

  /** What the shards have stored, how many payloads they ever had, and whether the Run knows of them. */
  async payloads(): Promise<{ ever: number; payloads: StoredPayload[] }> {
    const ofRun = new Set(known.parse(JSON.parse(await this.#open("payloads", "run"))).known);
    const payloads: StoredPayload[] = [];
    let ever = 0;
    for (let shard = 0; shard < PAYLOAD_SHARDS; shard++) {
      const ofShard = stored.parse(JSON.parse(await this.#open("payloads", shard)));
      ever += ofShard.ever;
      for (const payload of ofShard.stored.map((number) => `${shard}/${number}`))
        payloads.push({ payload, known: ofRun.has(payload) });
    }
    return { ever, payloads };
  }

  async #open(action: string, object: "run" | number): Promise<string> {
    for (let tries = 1; ; tries++) {
      const response = await fetch(new URL(`/__chaos/?action=${action}&object=${object}`, this.#url));
      const text = await response.text();
      if (response.ok) return text;
      if (tries === TRIES) throw new Error(`${action} of ${object} failed: ${text}`);
      await pause(200);
    }
  }
}
