import { expect, test } from "vitest";
import { greeting } from "./greeting.ts";
import { readStartOptions } from "./options.ts";

/** Of a narrow terminal. */
const COLUMNS = 90;

test.each([
  "",
  "--steps 1000000",
  "--no-trainer",
  "--api-only --auth --state somewhere",
  "--inference http://127.0.0.1:8001 --model Qwen/Qwen3-0.6B --run another-run",
])("no line of the greeting of %j is wider than a narrow terminal", (args) => {
  const options = readStartOptions(args.split(" ").filter(Boolean), {});
  if (options === null) throw new Error("help was asked for");
  const lines = greeting({
    options,
    url: "http://127.0.0.1:8000",
    state: options.state ?? "/tmp/lachesis-aBcDeF",
  }).split("\n");
  expect(lines.filter((line) => line.length > COLUMNS)).toEqual([]);
  expect(lines).toContainEqual(expect.stringMatching(/^ {2}why no batch is ready: +curl '.*\/status\?explain'$/));
});
