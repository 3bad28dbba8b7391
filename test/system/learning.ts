import { z } from "zod";
import { check } from "./checks.ts";
import { Command } from "./command.ts";

const STEPS = 150;
const SEEDS = [1, 2, 3] as const;

/** By how much the mean reward has to rise, at least: by itself it moves by 0.025 (standard deviation). It mostly rises by 0.5 to 1.3. */
const RISE = 0.2;
/** By how much it moves without learning, at most. */
const STILL = 0.12;

const lastLine = z.strictObject({ steps: z.literal(STEPS), reward_first: z.number(), reward_last: z.number() });

/** The loop learns: over three seeds the reward rises, and with a learning rate of 0 it doesn't. */
export async function learning(): Promise<void> {
  for (const seed of SEEDS) {
    const rise = await trained(seed, []);
    check(`seed ${seed}: the reward rises`, rise >= RISE, `by ${rise.toFixed(3)}`);
  }
  const rise = await trained(SEEDS[0], ["--learning-rate", "0"]);
  check("with a learning rate of 0 it doesn't", Math.abs(rise) < STILL, `by ${rise.toFixed(3)}`);
}

/** Mean reward of the last ten steps, less that of the first ten. */
async function trained(seed: number, more: readonly string[]): Promise<number> {
  const command = new Command(["--steps", `${STEPS}`, "--seed", `${seed}`, "--json", "--port", "0", ...more]);
  try {
    const started = performance.now();
    const { code, stdout, stderr } = await command.ended;
    if (code !== 0) throw new Error(`exit code ${code}:\n${stderr.slice(-2_000)}`);
    const { reward_first, reward_last } = lastLine.parse(JSON.parse(stdout.trim().split("\n").at(-1) ?? ""));
    const seconds = (performance.now() - started) / 1000;
    console.log(`seed ${seed}: ${reward_first.toFixed(3)} → ${reward_last.toFixed(3)} in ${seconds.toFixed(0)} s`);
    return reward_last - reward_first;
  } finally {
    command.clear();
  }
}
