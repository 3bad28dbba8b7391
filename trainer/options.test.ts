import { expect, test } from "vitest";
import { UsageError } from "../cli/usage-error.ts";
import { readTrainerOptions } from "./options.ts";

const read = (args: string) => readTrainerOptions(args.split(" ").filter((arg) => arg !== ""));

test("what isn't given has a default", () => {
  expect(read("--url http://127.0.0.1:8000/")).toEqual({
    url: "http://127.0.0.1:8000",
    token: undefined,
    run: "default",
    steps: 1_000_000,
    seed: 0,
    learningRate: 0.003,
    batchSize: 64,
    maxTokenLength: 1_024,
    maxBatchesOffpolicy: 2,
    maxStaleness: null,
    checkpoints: null,
    checkpointInterval: 1,
    resume: true,
    host: "127.0.0.1",
    port: 9_004,
    publicUrl: null,
    serveOnly: false,
  });
});

test.each([
  ["--steps 3", { steps: 3 }],
  ["--learning-rate 0", { learningRate: 0 }],
  ["--learning-rate 1e-4", { learningRate: 1e-4 }],
  ["--max-staleness 0", { maxStaleness: 0 }],
  ["--fresh --checkpoint-dir here", { resume: false, checkpoints: "here" }],
  ["--serve-only --port 0", { serveOnly: true, port: 0 }],
])("%s gives %j", (args, expected) => {
  expect(read(`--url http://x ${args}`)).toMatchObject(expected);
});

test.each<[string, RegExp]>([
  ["", /--url is missing/],
  ["--url here", /--url can't be used: .* no http or https address/],
  ["--url ftp://x", /--url can't be used/],
  ["--url http://x --public-url gpu", /--public-url can't be used: .*http or https/],
  ["--url http://x --public-url http://me:hush@gpu", /--public-url can't be used: .*no user/],
  ["--url http://x --run a/b", /--run is "a\/b"/],
  ["--url http://x --steps 0", /--steps is "0"; give a whole number from 1 to/],
  ["--url http://x --seed 1.5", /--seed is "1.5"/],
  ["--url http://x --seed -1", /--seed is "-1"; give a whole number from 0 to/],
  ["--url http://x --learning-rate -1", /--learning-rate/],
  ["--url http://x --learning-rate nan", /--learning-rate is "nan"; give a number from 0/],
  ["--url http://x --port 65536", /--port is "65536"/],
  ["--url http://x --token abc", /--token[\s\S]*LACHESIS_TOKEN/],
])("%s is refused: %s", (args, message) => {
  expect(() => read(args)).toThrow(UsageError);
  expect(() => read(args)).toThrow(message);
});

test("the token in the address is told from it; the environment's wins", () => {
  const args = ["--url", "https://x:inurl@host/"];
  expect(readTrainerOptions(args)).toMatchObject({ url: "https://host", token: "inurl" });
  expect(readTrainerOptions(args, "other")).toMatchObject({ url: "https://host", token: "other" });
});

test.each(["--url x:hush@host:port", "--url https://hush@host", "--url http://x --public-url http://me:hush@gpu"])(
  "%s is refused without being quoted",
  (args) => {
    expect(() => read(args)).toThrow(expect.objectContaining({ message: expect.not.stringContaining("hush") }));
  },
);

test("help is asked for, whatever else is missing", () => {
  expect(read("--help")).toBeNull();
});
