import { parseArgs } from "node:util";
import { largeFlows, longQueue } from "./capacity.ts";
import { check, finish } from "./checks.ts";
import { killUnderLoad } from "./kill.ts";
import { learning } from "./learning.ts";
import { wholeLoop } from "./loop.ts";
import { lostWaiter } from "./lost-waiter.ts";
import { manyEnvironments } from "./many-environments.ts";

const { values } = parseArgs({
  options: {
    kills: { type: "string", default: "20" },
    seed: { type: "string", default: "1" },
    /** Words of the parts' names: only these are run. */
    only: { type: "string", multiple: true },
  },
});

/** A small generator (mulberry32), so that a run can be repeated. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

const parts: readonly (readonly [name: string, run: () => Promise<void>])[] = [
  [
    `${values.kills} kills under load, seed ${values.seed}`,
    () => killUnderLoad(Number(values.kills), randomFrom(Number(values.seed))),
  ],
  ["a trainer that is gone before its batch comes", lostWaiter],
  ["a long queue", longQueue],
  ["large groups and batches", largeFlows],
  ["ten thousand environments", manyEnvironments],
  ["the whole loop", wholeLoop],
  ["learning", learning],
];
for (const [name, run] of parts) {
  if (values.only !== undefined && !values.only.some((word) => name.includes(word))) continue;
  console.log(`-- ${name}`);
  await run().catch((error: unknown) =>
    check(name, false, error instanceof Error ? (error.stack ?? error.message) : String(error)),
  );
}
finish();
