import { z } from "zod";
import { defineEnvironment } from "../define.ts";
import { FakeServer, type FakeServerOptions } from "../inference/testing.ts";
import { type EnvironmentWorker, environmentWorker } from "./index.ts";
import type { LogEntry } from "./log.ts";
import type { QueuedMessage } from "./platform.ts";
import { FakeRun } from "./testing.ts";

/** Asks for the item's number; right is 1, wrong 0. Remembers how many groups there were. */
export const counting = defineEnvironment({
  name: "counting",
  config: z.object({ group_size: z.int().default(2), broken: z.enum(["item", "score", "no"]).default("no") }),
  items: (index, { config }) => {
    if (config.broken === "item") throw new Error(`no item ${index}`);
    return { number: index };
  },
  prompt: ({ number }) => [{ role: "user", content: `${number}` }],
  score: ({ item, rollouts, config }) => {
    if (config.broken === "score") throw new Error("no score");
    return rollouts.map(({ text }) => (text === `${item.number}` ? 1 : 0));
  },
  state: {
    schema: z.object({ groups: z.int(), means: z.array(z.number()) }),
    initial: () => ({ groups: 0, means: [] as number[] }),
    reduce: ({ groups, means }, { scores }) => ({ groups: groups + 1, means: [...means, mean(scores)] }),
  },
});

/** Half of the rollouts answer with what was asked. */
export const halfRight: FakeServerOptions = { answer: ({ prompt, index }) => (index % 2 === 0 ? asked(prompt) : "?") };

export type MakeWorker = (platform: Parameters<typeof environmentWorker>[1]) => EnvironmentWorker;

/** A consumer, with a run and an inference server in memory. */
export function setUp(
  options: FakeServerOptions = halfRight,
  config: object = {},
  make: MakeWorker = (platform) => environmentWorker(counting, platform),
) {
  const run = new FakeRun();
  const server = new FakeServer(options);
  const hosts = new Set<string>();
  const log: LogEntry[] = [];
  const worker = make({
    fetch: (url, init) => {
      hosts.add(new URL(url).host);
      return server.fetch(url, init);
    },
    sleep: async () => {},
    log: (entry) => log.push(entry),
  });
  const env = {
    LACHESIS: run,
    ROLLOUTS: { sendBatch: async () => {} },
    RUN: "default",
    PRESET: "",
    CONFIG: JSON.stringify(config),
  };
  const deliver = (...messages: QueuedMessage[]) => worker.queue({ messages }, env);
  return { run, server, hosts, log, worker, deliver };
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
}

/** What the user said last, in the toy template. */
export function asked(prompt: string): string {
  return /<\|user\|>([^<]*)/.exec(prompt)?.[1] ?? "";
}
