import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

const ROOT = join(import.meta.dirname, "..");
/** Inside the tree, so that packages are found, in a folder that git ignores. */
const DIST = join(ROOT, "dist");
let into = "";

beforeAll(() => {
  mkdirSync(DIST, { recursive: true });
  into = mkdtempSync(join(DIST, "new-environment-"));
});
afterAll(() => rmSync(into, { recursive: true, force: true }));

function node(...args: string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: ROOT, encoding: "utf8" });
  return { status, output: `${stdout}${stderr}` };
}
const make = (...args: string[]) => node("scripts/new-environment.ts", ...args, "--into", into);

test("a new environment's test passes, and its types are right", { timeout: 120_000 }, () => {
  const made = make("my-task");
  expect(made).toMatchObject({ status: 0, output: expect.stringContaining("npm start -- --environment my-task") });
  const files = ["README.md", "env.d.ts", "environment.ts", "index.test.ts", "index.ts", "wrangler.toml"];
  expect(readdirSync(join(into, "my-task")).toSorted()).toEqual(files.toSorted());

  writeFileSync(join(into, "vitest.config.ts"), 'export default { test: { include: ["**/*.test.ts"] } };\n');
  const tested = node("node_modules/vitest/vitest.mjs", "run", "--root", into);
  expect(tested.output).toMatch(/Tests .*3 passed/);

  const options = { extends: "../../tsconfig.json", include: ["."], exclude: ["**/*.test.ts", "vitest.config.ts"] };
  writeFileSync(join(into, "tsconfig.json"), JSON.stringify(options));
  expect(node("node_modules/typescript/bin/tsc", "--noEmit", "-p", into)).toEqual({ status: 0, output: "" });
  expect(
    node("node_modules/@biomejs/biome/bin/biome", "check", "--vcs-enabled=false", join(into, "my-task")).status,
  ).toBe(0);
});

test.each([
  { args: ["My-Task"], message: 'can\'t be called "My-Task"' },
  { args: ["8k"], message: 'can\'t be called "8k"' },
  { args: ["x".repeat(48)], message: "up to 46 letters" },
  { args: [], message: "usage: npm run new-environment NAME" },
  { args: ["one", "two"], message: "usage: npm run new-environment NAME" },
  { args: ["one", "--bar"], message: "there is no option --bar\n\nusage: npm run new-environment NAME" },
])("$args is refused", ({ args, message }) => {
  expect(make(...args)).toMatchObject({ status: 2, output: expect.stringContaining(message) });
});

test("an environment that is there is left alone", () => {
  mkdirSync(join(into, "taken"));
  expect(make("taken")).toMatchObject({ status: 2, output: expect.stringContaining("is there already") });
  expect(readdirSync(join(into, "taken"))).toEqual([]);
});
