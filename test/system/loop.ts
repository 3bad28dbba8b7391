import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { check } from "./checks.ts";
import { Command } from "./command.ts";

const STEPS = 30;

const stepLine = z.looseObject({
  event: z.literal("step"),
  step: z.int(),
  reward_mean: z.number(),
  loss: z.number(),
  staleness: z.number().nullable(),
  seconds: z.number(),
});
const lastLine = z.strictObject({ steps: z.int(), reward_first: z.number(), reward_last: z.number() });

/** The whole loop as `npm start` runs it: it ends by itself, starts again where it was, and leaves nothing behind. */
export async function wholeLoop(): Promise<void> {
  await boundedRun();
  await killedRun();
  await deadTrainer();
}

async function boundedRun(): Promise<void> {
  await using(["--steps", `${STEPS}`, "--json", "--port", "0"], async (command) => {
    const { code, stdout, stderr } = await command.ended;
    check(`${STEPS} steps end with exit code 0`, code === 0, code === 0 ? "" : stderr.slice(-2_000));
    const lines = stdout.trim().split("\n");
    const last = lastLine.safeParse(json(lines.pop()));
    check("the last line holds the mean rewards and nothing else", last.success, lines.at(-1)?.slice(0, 200));
    check("and all steps", last.data?.steps === STEPS, JSON.stringify(last.data));
    const steps = lines.map((line) => stepLine.safeParse(json(line)));
    const numbers = steps.map(({ data }) => data?.step);
    const inOrder = numbers.every((step, index) => step === index + 1);
    check("every line before is a step, in order", inOrder && steps.length === STEPS, numbers.join(" "));
    const orphans = await command.orphans();
    check("no process is left", orphans.length === 0, orphans.join("; "));
  });
}

/** Killed in the middle, with `kill -9`, and started again on the same state. */
async function killedRun(): Promise<void> {
  const state = mkdtempSync(join(tmpdir(), "lachesis-loop-"));
  const args = ["--steps", `${STEPS}`, "--json", "--port", "0", "--state", state];
  try {
    let last = 0;
    await using(args, async (command) => {
      await command.prints('"step":5,');
      command.signal("SIGKILL", "cli/main.ts", "node_modules");
      const { stdout } = await command.ended;
      last = Math.max(...stdout.split("\n").map((line) => stepLine.safeParse(json(line)).data?.step ?? 0));
      const orphans = await command.orphans();
      check("kill -9 of the command takes everything along", orphans.length === 0, orphans.join("; "));
    });
    await using(args, async (command) => {
      const { code, stdout, stderr } = await command.ended;
      const lines = stdout.trim().split("\n");
      const summary = lastLine.safeParse(json(lines.pop()));
      const first = stepLine.safeParse(json(lines[0])).data?.step ?? 0;
      const checkpoint = Number(/going on from the checkpoint of step (\d+)/.exec(stderr)?.[1]);
      // A step is kept before it is told of: more may have been kept than anybody was told of.
      check(
        "started again it goes on where it was",
        code === 0 && last >= 5 && checkpoint >= last && first === checkpoint + 1,
        `${last}, then ${first}; ${stderr.slice(-500)}`,
      );
      check("and counts every step once", summary.data?.steps === STEPS, JSON.stringify(summary.data));
    });
    await using(args, async (command) => {
      const { code, stderr } = await command.ended;
      check(
        "a run that is finished isn't silently gone on with",
        code === 2 && stderr.includes("--fresh"),
        stderr.slice(-500),
      );
    });
    await using([...args, "--seed", "5"], async (command) => {
      const { code, stderr } = await command.ended;
      const isClear = code === 2 && stderr.includes("seed was 0, now 5") && stderr.includes("--fresh");
      check("a checkpoint of other settings is an error that says so", isClear, stderr.slice(-500));
    });
  } finally {
    rmSync(state, { recursive: true, force: true });
  }
  check("the state is gone", !existsSync(state));
}

async function deadTrainer(): Promise<void> {
  await using(["--steps", "1000", "--json", "--port", "0"], async (command) => {
    await command.prints('"step":2,');
    command.signal("SIGKILL", "trainer/main.ts");
    const { code, stderr } = await command.ended;
    check("a trainer that dies ends the command with an error", code === 1, stderr.slice(-300));
    check("which says so", stderr.includes("the trainer ended with signal SIGKILL"), stderr.slice(-300));
    const orphans = await command.orphans();
    check("and nothing is left", orphans.length === 0, orphans.join("; "));
  });
  await using(
    ["--no-trainer", "--port", "0", "--state", mkdtempSync(join(tmpdir(), "lachesis-loop-"))],
    async (command) => {
      await command.prints("its address is published");
      command.signal("SIGTERM", "cli/main.ts", "node_modules");
      const { code } = await command.ended;
      check("SIGTERM ends it well", code === 0, `${code}`);
      const orphans = await command.orphans();
      check("with nothing left", orphans.length === 0, orphans.join("; "));
    },
  );
}

async function using(args: readonly string[], use: (command: Command) => Promise<void>): Promise<void> {
  const command = new Command(args);
  try {
    await use(command);
  } finally {
    command.clear();
  }
}

function json(line: string | undefined): unknown {
  try {
    return JSON.parse(line ?? "");
  } catch {
    return undefined;
  }
}
