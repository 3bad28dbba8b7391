import type { z } from "zod";
import type { Environment } from "./define.ts";
import { FakeServer, type FakeServerOptions } from "./inference/testing.ts";
import type { Rollout } from "./trajectory/index.ts";
import { environmentWorker } from "./worker/index.ts";
import type { LogEntry } from "./worker/log.ts";
import { type FakeLease, FakeMessage, FakeRun, messageOfLease, type SubmittedGroup } from "./worker/testing.ts";

export { FakeServer, type FakeServerOptions } from "./inference/testing.ts";
export { FakeMessage, FakeRun, messageOfLease } from "./worker/testing.ts";

export interface TrialOptions extends FakeServerOptions {
  /** Groups to generate, of the items 0, 1, 2, …; default 1. */
  readonly items?: number;
  /** Evaluates once instead. */
  readonly evaluate?: boolean;
  readonly preset?: string;
  readonly config?: object;
  /** Further bindings. */
  readonly env?: object;
  /** What the environment kept before. */
  readonly state?: unknown;
}

export interface Trial {
  /** The groups that were handed in. */
  readonly groups: readonly SubmittedGroup[];
  /** How the leases ended: "submitted", "skipped: equal_scores", "failed: item", … */
  readonly ends: readonly string[];
  readonly leases: readonly FakeLease[];
  /** What the environment keeps now. */
  readonly state: unknown;
  readonly server: FakeServer;
  readonly log: readonly LogEntry[];
}

/** Runs a whole environment, as a Worker, against a run and an inference server in memory. */
export async function trial<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  environment: Environment<Own, Item, State, R>,
  options: TrialOptions = {},
): Promise<Trial> {
  const { items = 1, evaluate = false, preset = "", config = {}, env = {}, state } = options;
  const server = new FakeServer(options);
  const run = new FakeRun();
  const log: LogEntry[] = [];
  if (state !== undefined) run.state = { version: 1, state };
  const worker = environmentWorker(environment, { fetch: server.fetch, log: (entry) => log.push(entry) });
  const bindings = {
    LACHESIS: run,
    ROLLOUTS: { sendBatch: async () => {} },
    RUN: "default",
    PRESET: preset,
    CONFIG: JSON.stringify(config),
    ...env,
  };
  const messages = evaluate
    ? [messageOfLease(run.open({ kind: "evaluate", item: null }))]
    : Array.from({ length: items }, () => messageOfLease(run.open()));
  // One invocation after another, as a queue that isn't busy does it: each sees the state that the one before left.
  for (const message of messages) await deliver(message, (again) => worker.queue({ messages: [again] }, bindings));
  const leases = [...run.leases.values()];
  const ends = leases.map(({ outcome, reason }) => (reason === null ? outcome : `${outcome}: ${reason}`));
  return { groups: run.groups, ends, leases, state: run.state.state, server, log };
}

/** Delivers a message until it is acknowledged or dead, without the waits in between. */
async function deliver(first: FakeMessage, queue: (message: FakeMessage) => Promise<void>): Promise<void> {
  for (let attempt = 1; attempt <= 3; attempt++) {
    const message = new FakeMessage(first.body, attempt);
    await queue(message);
    if (message.settled === "ack") return;
  }
}
