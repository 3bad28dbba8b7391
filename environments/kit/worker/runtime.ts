import type { Client } from "../../../src/client/client.ts";
import type { BaseConfig } from "../base-config.ts";
import type { Fetch } from "../inference/index.ts";
import type { Bindings } from "./bindings.ts";
import type { Log, LogEntry } from "./log.ts";

/** What the handlers do not do themselves, so that tests can. */
export interface Platform {
  /** Unix milliseconds. */
  readonly now: () => number;
  readonly sleep: (ms: number) => Promise<void>;
  /** From 0 to 1. */
  readonly random: () => number;
  /** For inference; default: the platform's own. */
  readonly fetch?: Fetch | undefined;
  readonly log: Log;
}

type Details = Omit<LogEntry, "level" | "event" | "environment" | "run">;

/** What every part of an invocation works with. */
export interface Runtime extends Omit<Platform, "log"> {
  /** The environment's name. */
  readonly name: string;
  readonly run: string;
  readonly base: BaseConfig;
  readonly client: Client;
  readonly bindings: Bindings;
  log(level: LogEntry["level"], event: string, details?: Details): void;
}

export function makeRuntime(name: string, base: BaseConfig, bindings: Bindings, platform: Platform): Runtime {
  const { run, client } = bindings;
  return {
    ...platform,
    name,
    run,
    base,
    client,
    bindings,
    log: (level, event, details) => platform.log({ level, event, environment: name, run, ...details }),
  };
}
