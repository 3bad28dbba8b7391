import { readOptions, wholeNumber } from "../../cli/options.ts";
import { runCommand } from "../../cli/run-command.ts";
import { largeFlows, longQueue } from "./capacity.ts";
import { check, finish } from "./checks.ts";
import { killUnderLoad } from "./kill.ts";
import { learning } from "./learning.ts";
import { wholeLoop } from "./loop.ts";
import { lostWaiter } from "./lost-waiter.ts";
import { manyEnvironments } from "./many-environments.ts";

const HELP = `usage: npm run test:system -- [--kills N] [--seed N] [--only WORDS …]

  --kills  of the server under load; default 20
  --seed   when they come; default 1
  --only   words of a part's name: only such parts are run; repeatable`;

const OPTIONS = {
  kills: { type: "string", default: "20" },
  seed: { type: "string", default: "1" },
  only: { type: "string", multiple: true },
  help: { type: "boolean", short: "h", default: false },
} as const;

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

async function main(): Promise<void> {
  const values = readOptions(process.argv.slice(2), OPTIONS, HELP);
  if (values.help) return console.log(HELP);
  const kills = wholeNumber("--kills", values.kills, 0, 10_000);
  const seed = wholeNumber("--seed", values.seed, 0, 2 ** 31 - 1);
  const parts: readonly (readonly [name: string, run: () => Promise<void>])[] = [
    [`${kills} kills under load, seed ${seed}`, () => killUnderLoad(kills, randomFrom(seed))],
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
}

await runCommand(main);
