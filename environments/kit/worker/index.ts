import type { z } from "zod";
import type { Environment } from "../define.ts";
import type { ConfigOf, ReadConfig } from "../read-config.ts";
import type { Rollout } from "../trajectory/index.ts";
import { readBindings } from "./bindings.ts";
import { Consumer } from "./consumer.ts";
import { consoleLog, messageOf } from "./log.ts";
import type { EnvironmentEnv, QueuedBatch } from "./platform.ts";
import { Pump } from "./pump.ts";
import { makeRuntime, type Platform, type Runtime } from "./runtime.ts";
import { statusPage } from "./status.ts";

/** What the platform calls; it fits `ExportedHandler`. */
export interface EnvironmentWorker {
  readonly scheduled: (event: unknown, env: EnvironmentEnv) => Promise<void>;
  readonly queue: (batch: QueuedBatch, env: EnvironmentEnv) => Promise<void>;
  readonly fetch: (request: Request, env: EnvironmentEnv) => Promise<Response>;
}

/** After a set-up that can't work, so that it can be mended before the messages are dead, in seconds. */
const SETUP_DELAY_SECONDS = 30;

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

  const begin = (env: EnvironmentEnv): { runtime: Runtime } & ReadConfig<ConfigOf<Own>> => {
    const bindings = readBindings(env);
    const read = environment.readConfig(bindings);
    return { runtime: makeRuntime(environment.name, read.base, bindings, whole), ...read };
  };

  /** Null when the set-up is wrong, which has been logged: a throw would be logged by the platform, without its remedy. */
  const beginOrTell = (env: EnvironmentEnv, event: string) => {
    try {
      return begin(env);
    } catch (error) {
      whole.log({
        level: "error",
        event,
        environment: environment.name,
        run: env.RUN,
        reason: "setup",
        message: messageOf(error),
      });
      return null;
    }
  };

  return {
    async scheduled(_event, env) {
      const begun = beginOrTell(env, "pump");
      if (begun === null) return;
      try {
        await new Pump(begun.runtime, begun.runtime.bindings.queue()).run();
      } catch (error) {
        begun.runtime.log("error", "pump", { reason: "internal", message: messageOf(error) });
      }
    },

    async queue({ messages }, env) {
      const begun = beginOrTell(env, "queue");
      if (begun === null) {
        for (const message of messages) message.retry({ delaySeconds: SETUP_DELAY_SECONDS });
        return;
      }
      await new Consumer(begun.runtime, environment, begun.config).consume(messages);
    },

    fetch: (request, env) => statusPage(request, environment, () => begin(env)),
  };
}
