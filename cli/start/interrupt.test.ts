import { afterEach, describe, expect, test } from "vitest";
import { StartProcess } from "./testing.ts";

/** What a person sees who presses Ctrl-C, at every stage of the command. Linux alone has /proc to look at processes. */

const STEPS = ["--steps", "1000000"];
let started: StartProcess | null = null;
afterEach(() => started?.clear());

const runs = (name: string) => (process: StartProcess) => process.processes().some((line) => line.includes(name));
const prints = (text: string) => (process: StartProcess) => process.output.includes(text);

const STAGES: readonly (readonly [when: string, (process: StartProcess) => boolean])[] = [
  ["at once", () => true],
  ["with its state open", (process) => process.files().length > 0],
  ["while it bundles", runs("esbuild")],
  ["while the runtime starts", runs("workerd")],
  ["when it greets", prints("Lachesis is up")],
  ["when the policy is served", prints("the policy is served at")],
  ["when the trainer has registered", prints("registered, at step 0")],
];

describe.runIf(process.platform === "linux")("a signal leaves nothing behind", () => {
  test.each(STAGES)("Ctrl-C %s", async (when, isSo) => {
    started = new StartProcess(STEPS);
    await started.until(isSo);
    const how = await started.end("SIGINT", "group");
    // A shell calls both 130.
    expect(when === "at once" ? [130, "SIGINT"] : [130]).toContain(how);
    await expectNothingLeft(started);
  });

  test("SIGTERM to the command alone, while it bundles", async () => {
    started = new StartProcess(STEPS);
    await started.until(runs("esbuild"));
    expect(await started.end("SIGTERM", "command")).toBe(143);
    await expectNothingLeft(started);
  });

  test("kill -9 of the command, while the runtime starts", async () => {
    started = new StartProcess(["--api-only"]);
    await started.until(runs("workerd"));
    // Now the start can't come to its end.
    started.halt("workerd");
    await started.until(runs("lachesis-guard"));
    expect(await started.end("SIGKILL", "command")).toBe("SIGKILL");
    const { processes } = started;
    await expect.poll(() => processes.call(started)).toEqual([]);
  });

  test("Ctrl-C ends a session that has no end well", async () => {
    started = new StartProcess(["--api-only"]);
    await started.until(prints("Lachesis is up"));
    expect(await started.end("SIGINT", "group")).toBe(0);
  });
});

async function expectNothingLeft(process: StartProcess): Promise<void> {
  expect(process.output).not.toMatch(/^\s+at |Error/m);
  expect(process.files()).toEqual([]);
  await expect.poll(() => process.processes()).toEqual([]);
}
