import { basename, dirname, join } from "node:path";
import { describe, expect, test } from "vitest";
import { unstable_readConfig as readConfig } from "wrangler";
import { environmentConfigs } from "../scripts/environment-types.ts";
import { MAX_ATTEMPTS } from "./kit/worker/attempts.ts";

const root = readConfig({ config: join(import.meta.dirname, "../wrangler.toml") });

describe.each(environmentConfigs().map((path) => ({ name: basename(dirname(path)), path })))(
  "$name",
  ({ name, path }) => {
    const config = readConfig({ config: path });
    const worker = `lachesis-${name}`;

    test("is set up as every environment's Worker is", async () => {
      expect(config.name).toBe(worker);
      expect(config.compatibility_date).toBe(root.compatibility_date);
      expect(config.compatibility_flags).toEqual(root.compatibility_flags);
      expect(config.triggers.crons).toEqual(["* * * * *"]);
      expect(config.services).toEqual([{ binding: "LACHESIS", service: root.name }]);
      expect(config.vars).toMatchObject({ RUN: "default", PRESET: "", CONFIG: "" });
      expect(config.workers_dev).toBe(false);
    });

    test("has a queue of its own, which counts deliveries as the kit does", () => {
      expect(config.queues.producers).toEqual([{ binding: "ROLLOUTS", queue: worker }]);
      expect(config.queues.consumers).toEqual([
        {
          queue: worker,
          max_batch_size: 5,
          max_batch_timeout: 0,
          max_retries: MAX_ATTEMPTS - 1,
          dead_letter_queue: `${worker}-failed`,
        },
      ]);
    });

    test("is called by its folder", async () => {
      const { environment } = await import(join(dirname(path), "environment.ts"));
      expect(environment.name).toBe(name);
    });
  },
);
