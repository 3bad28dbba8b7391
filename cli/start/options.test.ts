import { describe, expect, test } from "vitest";
import { UsageError } from "../usage-error.ts";
import { readEnvironments } from "./environments.ts";
import type { Generation } from "./generation.ts";
import { readStartOptions } from "./options.ts";

const KEY = { INFERENCE_KEY: "very secret" };

/** With an environment that needs no folder: none. */
const read = (...args: string[]) => readStartOptions([...args], KEY);

describe("--api-only", () => {
  test("runs no environment, no policy and no trainer, and keeps its state", () => {
    expect(read("--api-only", "--port", "0")).toMatchObject({
      port: 0,
      host: "127.0.0.1",
      state: ".lachesis",
      run: "default",
      generation: { kind: "none" },
      environments: [],
    });
  });

  test.each([
    "--steps 3",
    "--seed 3",
    "--environment gsm8k",
    "--inference http://x",
    "--json",
    "--no-trainer",
    "--model x",
  ])("doesn't go with %s", (option) => {
    expect(() => read("--api-only", ...option.split(" "))).toThrow(`${option.split(" ")[0]} can't be given`);
  });
});

test.each<[string, RegExp]>([
  ["--port 65536", /--port is "65536"; give a whole number/],
  ["--run a/b", /--run is "a\/b"/],
  ["--host 0.0.0.0", /--host "0.0.0.0" lets other machines in: add --auth/],
  ["--steps 0", /--steps is "0"; give a whole number from 1/],
  ["--seed -1", /--seed is "-1"; give a whole number from 0/],
  ["--learning-rate fast", /--learning-rate is "fast"; give a number from 0/],
  ["--learning-rate 2", /--learning-rate is "2"/],
  ["--batch-size 0", /--batch-size is "0"/],
  ["--model x", /--model can't be given: it is for --inference URL/],
  ["--backend vllm", /--backend can't be given/],
  ["--inference-secret INFERENCE_KEY", /--inference-secret can't be given/],
  ["--no-trainer --steps 3", /--steps can't be given: with --no-trainer/],
  ["--no-trainer --json", /--json can't be given/],
  ["--inference x --model m", /--inference can't be used: .*http or https address/],
  ["--inference ftp://x --model m", /--inference can't be used: .*http or https address/],
  ["--inference http://me:hush@x --model m", /--inference can't be used: .*no user and password.*name a secret/],
  ["--inference http://x", /--model is missing/],
  ["--inference http://x --model m --backend tgi", /--backend is "tgi"; give one of vllm, sglang, openai/],
  [
    "--inference http://x --model m --steps 3",
    /--steps can't be given: with --inference there is no reference trainer/,
  ],
  [
    "--inference http://x --model m --inference-secret INFERENCE_NOT_SET",
    /--inference-secret must name an environment variable/,
  ],
  ["--environment nowhere", /--environment is "nowhere"; there are /],
  ["--config gsm8k", /--config names no environment; give NAME=JSON/],
  ["--config other={}", /--config names "other"; give NAME=JSON with a NAME that runs: gsm8k/],
  ["--config gsm8k=[]", /--config gsm8k is \[\]; give a JSON object/],
  ["--config gsm8k={x", /--config gsm8k is {x; give a JSON object/],
])("%s is refused: %s", (args, message) => {
  expect(() => read(...args.split(" "))).toThrow(message);
});

test.each([
  "--inference http://x --model m --inference-secret sk-1234",
  "--inference http://x --model m --inference-secret INFERENCE_SK_1234",
  "--inference http://me:sk-1234@x --model m",
  "--inference me:sk-1234@x --model m",
  "--inference http://me:sk-1234@x:port --model m",
])("%s is refused; what may be an API key is not repeated", (args) => {
  const refused = () => read(...args.split(" "));
  expect(refused).toThrow(UsageError);
  expect(refused).toThrow(expect.objectContaining({ message: expect.not.stringMatching(/sk.1234/i) }));
});

describe("an environment's variables", () => {
  const reference: Generation = { kind: "reference", steps: null, seed: 0, learningRate: null, batchSize: 64 };
  const endpoint: Generation = {
    kind: "endpoint",
    url: "http://x",
    model: "m",
    backend: "vllm",
    secret: { name: "INFERENCE_KEY", value: "very secret" },
  };
  const variables = (options: object, generation: Generation = reference) => {
    if (generation.kind === "none") throw new Error("runs no environment");
    return readEnvironments(options, generation, (name) => `${name}/wrangler.toml`).map(({ variables }) => variables);
  };

  test.each<[string, object, Generation, object]>([
    ["the tiny policy gets the preset tiny", {}, reference, { PRESET: "tiny" }],
    ["another policy gets none", {}, { ...endpoint, secret: null }, { PRESET: "" }],
    ["--preset is taken", { preset: "hard" }, endpoint, { PRESET: "hard", INFERENCE_KEY: "very secret" }],
    [
      "seed and group size",
      { seed: "7", "group-size": "4" },
      reference,
      { PRESET: "tiny", CONFIG: '{"seed":7,"group_size":4}' },
    ],
    [
      "--config has the last word",
      { "group-size": "4", config: ['gsm8k={"group_size": 2, "x": {"y": 1}}'] },
      reference,
      { PRESET: "tiny", CONFIG: '{"group_size":2,"x":{"y":1}}' },
    ],
  ])("%s", (_, options, generation, expected) => {
    expect(variables(options, generation)).toEqual([expected]);
  });

  test("each environment has its own config, and runs once", () => {
    const options = { environment: ["a", "b", "a"], config: ['b={"weight":2}'] };
    expect(variables(options)).toEqual([{ PRESET: "tiny" }, { PRESET: "tiny", CONFIG: '{"weight":2}' }]);
  });
});
