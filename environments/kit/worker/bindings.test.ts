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
  { name: "an address with a query", env: { LACHESIS_URL: "https://h/?k=1" }, message: "LACHESIS_URL: the server's" },
  {
    name: "an address with a user alone",
    env: { LACHESIS_URL: "https://user@h" },
    message: "LACHESIS_URL: the server's",
  },
  {
    name: "a password with a space",
    env: { LACHESIS_URL: "https://x:a%20b@h" },
    message: "LACHESIS_URL: the token has spaces",
  },
  {
    name: "a token with a space",
    env: { LACHESIS, LACHESIS_TOKEN: "a b" },
    message: /LACHESIS_TOKEN: the token has spaces.*wrangler secret put LACHESIS_TOKEN/,
  },
  { name: "a run's name that can't be", env: { LACHESIS, RUN: "my run" }, message: 'RUN is "my run": a run\'s name' },
])("$name is refused", ({ env, message }) => {
  expect(() => readBindings(env)).toThrow(SetupError);
  expect(() => readBindings(env)).toThrow(message);
});

test.each([
  { name: "a token", env: { LACHESIS_TOKEN: "sesame", RUN: "my run", LACHESIS } },
  { name: "a password in an address", env: { LACHESIS_URL: "https://x:sesame@lachesis example" } },
  { name: "a password in an address of another kind", env: { LACHESIS_URL: "ftp://x:sesame@lachesis.example" } },
  { name: "a token that no header can hold", env: { LACHESIS, LACHESIS_TOKEN: "open sesame" } },
  { name: "a query", env: { LACHESIS_URL: "https://lachesis.example/?k=sesame" } },
])("$name is never shown", ({ env }) => {
  expect(() => readBindings(env)).toThrow(SetupError);
  expect(() => readBindings(env)).not.toThrow("sesame");
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

test("endpoints' secrets are found by name, and only texts are secrets", () => {
  const { endpointSecret } = readBindings({ LACHESIS, INFERENCE_KEY: "k", INFERENCE_EMPTY: "", INFERENCE_BUCKET: {} });
  const names = ["INFERENCE_KEY", "INFERENCE_EMPTY", "INFERENCE_BUCKET", "INFERENCE_OTHER"];
  expect(names.map(endpointSecret)).toEqual(["k", undefined, undefined, undefined]);
});

test.each([
  "LACHESIS_TOKEN",
  "JUDGE_KEY",
  "inference_key",
  "INFERENCE-KEY",
  "XINFERENCE_KEY",
  "__proto__",
  "INFERENCE_K\n",
])("an endpoint doesn't get the secret %j", (name) => {
  const { endpointSecret } = readBindings({ LACHESIS, [name]: "sesame" });
  expect(() => endpointSecret(name)).toThrow(/begin with INFERENCE_.*wrangler secret put INFERENCE_/);
  expect(() => endpointSecret(name)).not.toThrow("sesame");
});

test("the environment's own code is given everything but the API's address and token", () => {
  const env = { LACHESIS, LACHESIS_TOKEN: "t", LACHESIS_URL: "https://x:t@lachesis.example", JUDGE_KEY: "k" };
  expect(readBindings(env).forEnvironment).toEqual({ LACHESIS, JUDGE_KEY: "k" });
});

test("a queue that is missing is told with how to make one", () => {
  expect(() => readBindings({ LACHESIS }).queue()).toThrow(/ROLLOUTS is missing.*wrangler queues create/);
});
