import { Client } from "../../src/client/client.ts";
import type { StartOptions } from "./options.ts";
import type { StatusLine } from "./status-line.ts";
import { type TrainerEnd, type TrainerEvent, TrainerProcess } from "./trainer-process.ts";

export interface GenerationSetup {
  readonly options: StartOptions;
  readonly url: string;
  /** Of role trainer. */
  readonly token: string | undefined;
  readonly checkpoints: string;
  readonly status: StatusLine;
  /** Called when there is an inference endpoint: environments may begin. */
  readonly onReady: () => void;
}

/** Whoever serves the policy. */
export interface Generator {
  /** Resolves when it has ended by itself, which only a trainer with all its steps does well; else never. */
  readonly ended: Promise<TrainerEnd>;
  stop(): Promise<void>;
  /** Prints the last line for a program, if one was asked for. */
  conclude(): void;
}

/** Starts the tiny policy and its trainer, or publishes the inference server that the options name. */
export async function startGeneration(setup: GenerationSetup): Promise<Generator> {
  const { options, url, token, onReady } = setup;
  const { generation } = options;
  if (generation.kind === "reference" || generation.kind === "serve-only") return startTrainer(setup);
  if (generation.kind === "endpoint") {
    const { url: address, model, backend, secret } = generation;
    const client = new Client({ url: `${url}/runs/${options.run}`, token });
    await client.publish({ endpoints: [{ url: address, model, backend, secret: secret?.name ?? null }] });
    onReady();
  }
  return { ended: new Promise(() => undefined), stop: async () => undefined, conclude: () => undefined };
}

function startTrainer({ options, url, token, checkpoints, status, onReady }: GenerationSetup): Generator {
  const steps = options.generation.kind === "reference" ? options.generation.steps : null;
  let summary: string | null = null;
  let wasFinished = false;
  let isReady = false;
  const print = (event: object) => {
    if (options.json) process.stdout.write(`${JSON.stringify(event)}\n`);
  };
  const onEvent = (event: TrainerEvent) => {
    switch (event.event) {
      case "published":
      case "registered":
        // A trainer registers again after a reset.
        if (!isReady) onReady();
        isReady = true;
        return;
      case "resumed":
        wasFinished = steps !== null && event.step >= steps;
        return status.rewards.goOnFrom(event.reward_first);
      case "step":
        print(event);
        return status.rewards.add(event.step, event.reward_mean);
      case "finished":
      case "stopped": {
        const { event: _, ...rest } = event;
        summary = JSON.stringify(rest);
      }
    }
  };
  const trainer = new TrainerProcess({
    args: trainerArguments(options, url, checkpoints),
    token,
    onEvent,
    onLine: (line) => status.log(line),
  });
  const ended = trainer.ended.then((end) =>
    end === null && wasFinished
      ? {
          message: `the run ${options.run} in ${options.state} has had its ${steps} steps before: start a new one with --fresh, or name another --state`,
          exitCode: 2,
        }
      : end,
  );
  return {
    ended,
    stop: () => trainer.stop(),
    conclude: () => {
      if (options.json && summary !== null) process.stdout.write(`${summary}\n`);
    },
  };
}

function trainerArguments({ generation, run }: StartOptions, url: string, checkpoints: string): string[] {
  const common = ["--url", url, "--run", run, "--port", "0"];
  if (generation.kind === "serve-only") return [...common, "--serve-only", "--seed", `${generation.seed}`];
  if (generation.kind !== "reference") return common;
  const { steps, seed, learningRate, batchSize } = generation;
  return [
    ...common,
    ...["--seed", `${seed}`, "--batch-size", `${batchSize}`, "--checkpoint-dir", checkpoints],
    ...(steps === null ? [] : ["--steps", `${steps}`]),
    ...(learningRate === null ? [] : ["--learning-rate", learningRate]),
  ];
}
