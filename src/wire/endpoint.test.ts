import { describe, expect, test } from "vitest";
import { validate } from "./json-body.ts";
import { policyBody } from "./rollouts.ts";
import { faults } from "./testing.ts";

describe("an endpoint", () => {
  const ENDPOINT = { url: "http://gpu:8000/v1", model: "m" };
  const KEY = "sk-9f3c";

  test.each<[what: string, body: unknown]>([
    ["a key in place of a secret's name", { endpoints: [{ ...ENDPOINT, secret: KEY }] }],
    ["a key beneath a field nobody knows", { endpoints: [{ ...ENDPOINT, api_key: KEY }] }],
    ["the same, one level up", { api_key: KEY }],
    ["a key in a url", { endpoints: [{ ...ENDPOINT, url: `http://h/v1?api_key=${KEY}` }] }],
    ["a key in a fragment", { endpoints: [{ ...ENDPOINT, url: `http://h/v1#${KEY}` }] }],
    ["a password", { endpoints: [{ ...ENDPOINT, url: `http://me:${KEY}@h/v1` }] }],
    ["a user", { endpoints: [{ ...ENDPOINT, url: `https://${KEY}@h/v1` }] }],
    ["a password, listed twice", { endpoints: [1, 2].map(() => ({ ...ENDPOINT, url: `http://me:${KEY}@h/v1` })) }],
    ["a password behind three slashes", { endpoints: [{ ...ENDPOINT, url: `http:///me:${KEY}@h/v1` }] }],
    ["a password behind one slash", { endpoints: [{ ...ENDPOINT, url: `http:/me:${KEY}@h/v1` }] }],
    ["a password behind backslashes", { endpoints: [{ ...ENDPOINT, url: `http:\\\\me:${KEY}@h/v1` }] }],
    ["a password behind a tab", { endpoints: [{ ...ENDPOINT, url: `ht\ttp://me:${KEY}@h/v1` }] }],
    ["no address", { endpoints: [{ ...ENDPOINT, url: KEY }] }],
    ["an address that is too long", { endpoints: [{ ...ENDPOINT, url: `http://h/${KEY}${"x".repeat(2_048)}` }] }],
    ["a text in place of an endpoint", { endpoints: [`http://me:${KEY}@h/v1`] }],
    ["a text in place of the list", { endpoints: KEY }],
    ["a text in place of the body", KEY],
  ])("is refused with %s, which is not repeated", (_what, body) => {
    expect(JSON.stringify(faults(body, policyBody))).not.toContain(KEY);
  });

  test.each([null, "INFERENCE_", "INFERENCE_VLLM_KEY", "INFERENCE_2", `INFERENCE_${"X".repeat(110)}`])(
    "may name the secret %j",
    (secret) => {
      expect(validate({ endpoints: [{ ...ENDPOINT, secret }] }, policyBody, "body").endpoints).toMatchObject([
        { secret },
      ]);
    },
  );

  test.each([
    "",
    "LACHESIS_TOKEN",
    "VLLM_KEY",
    "inference_key",
    "INFERENCE",
    "INFERENCE_key",
    "INFERENCE_A B",
    ` INFERENCE_A`,
    "INFERENCE_A\n",
    `INFERENCE_${"X".repeat(111)}`,
  ])("may not name the secret %j: it is none of inference's", (secret) => {
    const [fault] = faults({ endpoints: [{ ...ENDPOINT, secret }] }, policyBody);
    expect(fault?.loc).toEqual(["body", "endpoints", 0, "secret"]);
    expect(fault?.msg).toContain("INFERENCE_");
  });

  test.each(["http://gpu", "https://gpu.example:8000/v1/", "http://[::1]:8000", "http://10.0.0.1/a@b:c"])(
    "may be at %s",
    (url) => {
      expect(validate({ endpoints: [{ ...ENDPOINT, url }] }, policyBody, "body").endpoints).toMatchObject([{ url }]);
    },
  );
});
