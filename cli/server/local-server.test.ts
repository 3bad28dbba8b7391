import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { assertSetUp } from "../start/set-up.ts";
import { type LocalServer, startServer } from "./local-server.ts";

const WRANGLER = `
name = "lachesis-fixture"
main = "worker.ts"
compatibility_date = "2026-11-01"
rules = [{ type = "Text", globs = ["**/*.jsonl"], fallthrough = true }]
triggers = { crons = ["0 0 1 1 *"] }
vars = { PRESET = "own", RUN = "own" }
services = [{ binding = "LACHESIS", service = "lachesis" }]
[[queues.producers]]
binding = "ROLLOUTS"
queue = "fixture"
[[queues.consumers]]
queue = "fixture"
max_batch_size = 3
max_batch_timeout = 0
max_retries = 1
dead_letter_queue = "fixture-dead"
[[queues.consumers]]
queue = "fixture-dead"
max_batch_timeout = 0
`;

const WORKER = `
import items from "./items.jsonl";
export default {
  async scheduled(event, env) {
    const health = await (await env.LACHESIS.fetch("https://lachesis/health")).json();
    console.log(["cron", event.cron, health.status, items.trim(), env.PRESET, env.RUN].join(" "));
    await env.ROLLOUTS.sendBatch([1, 2, 3, 4].map((body) => ({ body, contentType: "json" })));
  },
  queue(batch) {
    console.log([batch.queue, ...batch.messages.map(({ body, attempts }) => body + "#" + attempts)].join(" "));
    for (const message of batch.messages) if (batch.queue === "fixture" && message.body === 3) message.retry();
  },
};
`;

const folder = mkdtempSync(join(tmpdir(), "lachesis-fixture-"));
let server: LocalServer | null = null;
afterAll(async () => {
  await server?.stop();
  rmSync(folder, { recursive: true });
});

test("an environment's Worker runs beside the API: cron, queue with retry and dead letters, service, text, variables", async () => {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "wrangler.toml"), WRANGLER);
  writeFileSync(join(folder, "worker.ts"), WORKER);
  writeFileSync(join(folder, "items.jsonl"), '{"question":1}\n');
  const lines: string[] = [];
  const isThrough = Promise.withResolvers<void>();
  server = await startServer({
    host: "127.0.0.1",
    port: 0,
    state: null,
    variables: { ALLOW_ANONYMOUS: "true" },
    environments: [{ config: join(folder, "wrangler.toml"), variables: { RUN: "other" } }],
    onLog: (line) => {
      lines.push(line.replace(/^log: /, ""));
      if (line.includes("fixture-dead")) isThrough.resolve();
    },
  });
  expect(await (await fetch(new URL("/health", server.url))).json()).toEqual({ status: "ok" });
  // Once at the start, and then not before the year ends.
  server.startCrons();
  await isThrough.promise;
  expect(lines[0]).toBe('cron 0 0 1 1 * ok {"question":1} own other');
  // One batch at a time; what is to be tried again goes to the end.
  expect(lines.slice(1, 3)).toEqual(["fixture 1#1 2#1 3#1", "fixture 4#1 3#2"]);
  expect(lines.at(-1)).toBe("fixture-dead 3#1");
  // The Worker has no fetch handler, which is no fault.
  await assertSetUp(server, ["fixture"]);
}, 30_000);
