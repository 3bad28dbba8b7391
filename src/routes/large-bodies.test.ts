import { expect, test } from "vitest";
import { call, freshRun, REGISTRATION } from "../testing.ts";

/** A run with one environment and an open rollout lease, 1. */
async function ready(): Promise<string> {
  const at = `/runs/${freshRun()}`;
  const environment = { max_token_length: 64, desired_name: "math", weight: 1, group_size: 2 };
  await call("POST", `${at}/register`, REGISTRATION);
  await call("POST", `${at}/policy`, { endpoints: [{ url: "http://gpu", model: "m" }] });
  await call("POST", `${at}/register-env`, environment);
  await call("POST", `${at}/leases`, { env_id: 0 });
  return at;
}

/** JSON of `length` characters, with its quotes. */
const textOf = (character: string, length: number) => character.repeat(length - 2);
/** As Python's json.dumps writes it. */
const escaped = (json: string) =>
  json.replaceAll(/[^\x20-\x7e]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`);

const WAYS: readonly (readonly [how: string, character: string, write: (json: string) => string])[] = [
  ["of one byte a character", "x", (json) => json],
  ["of three bytes a character", "語", (json) => json],
  ["of three bytes a character, escaped", "語", escaped],
];

test.each(WAYS)("a hundred follow-up items as long as they may be are taken: %s", async (_how, character, write) => {
  const at = await ready();
  const items = Array.from({ length: 100 }, (_, index) => textOf(character, 16_382) + String(index).padStart(2, "0"));
  const noted = await call("POST", `${at}/leases/1/backlog`, write(JSON.stringify({ items })));
  expect(noted).toMatchObject({ status: 200, text: '{"status":"noted","items":100}' });
  await call("POST", `${at}/leases/1/close`, { outcome: "skipped", reason: "easy" });
  const { text } = await call("POST", `${at}/leases`, { env_id: 0 });
  expect(JSON.parse(text)).toMatchObject({ leases: [{ item: null, backlog: items[0] }] });
});

test.each(WAYS)("a state as long as it may be is kept: %s", async (_how, character, write) => {
  const at = await ready();
  const state = textOf(character, 49_152);
  const kept = await call("PUT", `${at}/environments/0/state`, write(JSON.stringify({ version: 0, state })));
  expect(kept.status).toBe(200);
  const longer = await call("PUT", `${at}/environments/0/state`, { version: 1, state: `${state}x` });
  expect([longer.status, longer.text]).toEqual([422, expect.stringContaining("at most 49152 characters")]);
});

test.each([
  ["POST", "/leases/1/backlog", "9.4375 MiB"],
  ["PUT", "/environments/0/state", "352 KiB"],
  ["POST", "/leases/1/renew", "64 KiB"],
])("%s %s beyond its limit is a 413 that names it", async (method, path, limit) => {
  const { status, text } = await call(method, `${await ready()}${path}`, " ".repeat(10 * 1024 * 1024));
  expect([status, JSON.parse(text)]).toEqual([
    413,
    { detail: `the body is larger than ${limit} (decoded): that is this route's limit` },
  ]);
});
