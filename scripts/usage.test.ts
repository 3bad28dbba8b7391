import { spawnSync } from "node:child_process";
import { expect, test } from "vitest";

const SCRIPTS = [
  "test/system/run.ts",
  "test/chaos/run.ts",
  "test/chaos/main.ts",
  "test/interop/run.ts",
  "scripts/environment-types.ts",
  "scripts/new-environment.ts",
];

const run = (script: string, option: string) =>
  spawnSync(process.execPath, [script, option], { encoding: "utf8", timeout: 30_000 });

test.each(SCRIPTS)("%s tells how it is used, and refuses what it doesn't know", (script) => {
  expect(run(script, "--help")).toMatchObject({ status: 0, stderr: "", stdout: expect.stringMatching(/^usage: /) });
  const unknown = run(script, "--no-such-option");
  expect(unknown).toMatchObject({
    status: 2,
    stdout: "",
    stderr: expect.stringContaining("no option --no-such-option\n"),
  });
});
