import { afterEach, describe, expect, test } from "vitest";
import { UsageError } from "../usage-error.ts";
import { assertSetUp } from "./set-up.ts";
import { StartProcess } from "./testing.ts";

let started: StartProcess | null = null;
afterEach(() => started?.clear());

describe("what an environment can't run with ends the command, in the kit's words", () => {
  test.each<[string, RegExp]>([
    ["--preset nope", /the environment gsm8k can't run: PRESET is "nope", but gsm8k has these presets: /],
    ['--config gsm8k={"gruop_size":4}', /the environment gsm8k can't run: CONFIG has the unknown setting "gruop_size"/],
  ])("%s", async (args, message) => {
    started = new StartProcess(["--steps", "3", "--json", ...args.split(" ")]);
    expect(await started.ended()).toBe(2);
    expect(started.output).toMatch(message);
    expect(started.output).not.toMatch(/^\s+at |Error|Lachesis is up/m);
    expect(started.files()).toEqual([]);
  });
});

test.each<[string, number | null, string, string | null]>([
  ["a Worker that is well", 200, '{"error":null}', null],
  ["a Worker without a fetch handler", null, "Handler does not export a fetch() function.", null],
  ["a run that can't be asked yet", 200, '{"error":"no answer"}', null],
  ["a Worker without a page", 404, "", null],
  ["one of the kit that is set up wrong", 500, '{"error":"CONFIG is 3"}', "the environment b can't run: CONFIG is 3"],
  ["one of another kind that fails", 500, "oops", null],
  ["one of another kind that fails, in JSON", 500, '{"error":{"code":7}}', null],
])("%s: %s %s", async (_what, status, text, message) => {
  const server = {
    workers: ["worker-a", "worker-b"],
    get: async (worker: string) => {
      if (worker !== "worker-b") return { status: 200, text: "{}" };
      if (status === null) throw new Error(text);
      return { status, text };
    },
  };
  const checked = assertSetUp(server, ["a", "b"]);
  await (message === null ? checked : expect(checked).rejects.toThrow(UsageError));
  await (message === null ? null : expect(checked).rejects.toThrow(message));
});
