import type { z } from "zod";
import type { Environment } from "../define.ts";
import type { ConfigOf, ReadConfig } from "../read-config.ts";
import type { Rollout } from "../trajectory/index.ts";
import { type Bindings, readBindings } from "./bindings.ts";
import { Consumer } from "./consumer.ts";
import { consoleLog, messageOf } from "./log.ts";
import type { EnvironmentEnv, QueuedBatch, QueueProducer } from "./platform.ts";
import { Pump } from "./pump.ts";
import { makeRuntime, type Platform, type Runtime } from "./runtime.ts";
import { leaveForSetUp } from "./set-up-fault.ts";
import { statusPage } from "./status.ts";

/** What the platform calls; it fits `ExportedHandler`. */
export interface EnvironmentWorker {
  readonly scheduled: (event: unknown, env: EnvironmentEnv) => Promise<void>;
  readonly queue: (batch: QueuedBatch, env: EnvironmentEnv) => Promise<void>;
  readonly fetch: (request: Request, env: EnvironmentEnv) => Promise<Response>;
}

interface SetUpFault {
  /** Null when these are what is wrong. */
  readonly bindings: Bindings | null;
  readonly message: string;
}

/**
 * An environment as a Worker. `scheduled`, every minute, gets rollout leases and puts them on the queue; `queue` works on
 * them; `fetch` says how the environment is doing.
 * @param platform for tests: clock, chance, and so on
 */
export function environmentWorker<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  environment: Environment<Own, Item, State, R>,
  platform: Partial<Platform> = {},
): EnvironmentWorker {
  const whole: Platform = {
    now: () => Date.now(),
    sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
    random: () => Math.random(),
    log: consoleLog,
    ...platform,
  };

  type Begun = { readonly runtime: Runtime } & ReadConfig<ConfigOf<Own>>;

  const begin = (bindings: Bindings): Begun => {
    const read = environment.readConfig(bindings);
    return { runtime: makeRuntime(environment.name, read.base, bindings, whole), ...read };
  };

  /** For what gives out work: without the queue there is nowhere to put it. */
  const beginToPump = (bindings: Bindings): Begun & { readonly queue: QueueProducer } => ({
    ...begin(bindings),
    queue: bindings.queue(),
  });

  /** What is wrong with the set-up has been logged: a throw would be logged by the platform, without its remedy. */
  const beginOrTell = <T extends Begun>(
    env: EnvironmentEnv,
    event: string,
    beginWith: (bindings: Bindings) => T,
  ): T | SetUpFault => {
    let bindings: Bindings | null = null;
    try {
      bindings = readBindings(env);
      return beginWith(bindings);
    } catch (error) {
      const fault = { bindings, message: messageOf(error) };
      const { name } = environment;
      whole.log({ level: "error", event, environment: name, run: env.RUN, reason: "setup", message: fault.message });
      return fault;
    }
  };

  return {
    async scheduled(_event, env) {
      const begun = beginOrTell(env, "pump", beginToPump);
      if (!("runtime" in begun)) return;
      try {
        await new Pump(begun.runtime, begun.queue).run();
      } catch (error) {
        begun.runtime.log("error", "pump", { reason: "internal", message: messageOf(error) });
      }
    },

    async queue({ messages }, env) {
      const begun = beginOrTell(env, "queue", begin);
      if (!("runtime" in begun)) return leaveForSetUp(messages, begun.bindings, begun.message);
      await new Consumer(begun.runtime, environment, begun.config).consume(messages);
    },

    fetch: (request, env) => statusPage(request, environment, () => beginToPump(readBindings(env))),
  };
}
