import { expect, test } from "vitest";
import { readBindings, SetupError } from "./bindings.ts";

const LACHESIS = { fetch: async (_request: Request) => Response.json({ url: "service" }) };

test.each([
  { name: "no API", env: {}, message: "LACHESIS_URL" },
  {
    name: "a binding that is none",
    env: { LACHESIS: "lachesis" },
    message: 'LACHESIS is "lachesis": is no service binding',
  },
  { name: "an address that is none", env: { LACHESIS_URL: "lachesis.example" }, message: "LACHESIS_URL" },
  { name: "a run's name that can't be", env: { LACHESIS, RUN: "my run" }, message: 'RUN is "my run": a run\'s name' },
])("$name is refused", ({ env, message }) => {
  expect(() => readBindings(env)).toThrow(SetupError);
  expect(() => readBindings(env)).toThrow(message);
});

test("a token is never shown", () => {
  expect(() => readBindings({ LACHESIS_TOKEN: "secret", RUN: "my run", LACHESIS })).not.toThrow("secret");
});

test("empty variables are as if not set", () => {
  const bindings = readBindings({ LACHESIS, LACHESIS_URL: "", RUN: " ", PRESET: "", CONFIG: "" });
  expect(bindings).toMatchObject({ run: "default", preset: undefined, config: undefined });
});

test("the API is asked through the binding, about the run, with the token", async () => {
  const requests: Request[] = [];
  const service = {
    fetch: async (request: Request) => {
      requests.push(request);
      return Response.json({ environments: [] });
    },
  };
  await readBindings({ LACHESIS: service, LACHESIS_TOKEN: "t", RUN: "one" }).client.environments();
  expect(requests.map(({ url, headers }) => [new URL(url).pathname, headers.get("authorization")])).toEqual([
    ["/runs/one/environments", "Bearer t"],
  ]);
});

test("secrets are found by name, and only texts are secrets", () => {
  const { secret } = readBindings({ LACHESIS, VLLM_KEY: "k", EMPTY: "" });
  expect(["VLLM_KEY", "EMPTY", "LACHESIS", "OTHER"].map(secret)).toEqual(["k", undefined, undefined, undefined]);
});

test("a queue that is missing is told with how to make one", () => {
  expect(() => readBindings({ LACHESIS }).queue()).toThrow(/ROLLOUTS is missing.*wrangler queues create/);
});
