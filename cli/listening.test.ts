import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";

/** For documentation; no machine has it. */
const FOREIGN = "203.0.113.1";
const folder = mkdtempSync(join(tmpdir(), "lachesis-listening-"));
const other = createServer();
let taken = 0;
beforeAll(async () => {
  await once(other.listen(0, "127.0.0.1"), "listening");
  const address = other.address();
  if (typeof address === "object" && address !== null) taken = address.port;
});
afterAll(() => {
  other.close();
  rmSync(folder, { recursive: true });
});

const COMMANDS: readonly (readonly [name: string, ...args: string[]])[] = [
  ["npm start", "cli/main.ts", "start", "--api-only", "--auth", "--state", folder],
  ["npm run trainer", "trainer/main.ts", "--url", "http://127.0.0.1:1"],
];

test.each(
  COMMANDS.flatMap(([name, ...command]) => [
    { name, command, address: () => ["--port", `${taken}`], message: /port \d+ of 127\.0\.0\.1 is taken.*--port/ },
    {
      name,
      command,
      address: () => ["--port", "0", "--host", FOREIGN],
      message: /--host 203\.0\.113\.1 is no address/,
    },
    {
      name,
      command,
      address: () => ["--port", "0", "--host", "no.invalid"],
      message: /--host no\.invalid is no address/,
    },
  ]),
)("$name where it can't listen says which option to change: $message", async ({ command, address, message }) => {
  const child = spawn(process.execPath, [...command, ...address()], { stdio: ["ignore", "ignore", "pipe"] });
  let output = "";
  child.stderr.on("data", (chunk: Buffer) => (output += chunk.toString()));
  await once(child, "close");
  expect(output).toMatch(message);
  expect(output).not.toMatch(/^\s+at |Error/m);
  expect(child.exitCode).toBe(2);
});
