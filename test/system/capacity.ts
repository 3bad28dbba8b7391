import { createHash } from "node:crypto";
import { request } from "node:http";
import { createGunzip } from "node:zlib";
import { send } from "../support/http.ts";
import { check } from "./checks.ts";
import { registration, type ServerProcess, withServer } from "./server.ts";

const MIB = 1024 * 1024;

/** Length of what comes before the first group of a batch: {"batch":[ */
const HEAD = 10;

/** Memory of the process above its idle state that a flow of any size may take: far below a Worker's 128 MB for one of them. */
const FLOW_MEMORY_BYTES = 128 * MIB;

/** One sequence whose group has about this many bytes of text. */
function longGroup(bytes: number): string {
  const numbers = Array.from({ length: Math.floor(bytes / 16) }, (_, index) => 100_000 + ((index * 7919) % 50_000));
  const list = numbers.join(", ");
  return `{"tokens": [[${list}]], "masks": [[${list}]], "scores": [1.0]}`;
}

/** Large groups and large batches go through in small pieces. */
export function largeFlows(): Promise<void> {
  return withServer(passLargeFlows);
}

async function passLargeFlows(server: ServerProcess): Promise<void> {
  await send({ method: "POST", url: `${server.url}/runs/one/register`, body: registration(1) });
  const text = longGroup(60 * MIB - 1024);
  await send({ method: "GET", url: `${server.url}/runs/one/status` });
  const idle = server.workerdRss();
  const memory = watch(server);
  for (const gzip of [false, true]) {
    const answer = await send({ method: "POST", url: `${server.url}/runs/one/scored_data`, body: text, gzip });
    check(
      `a group of ${(text.length / MIB).toFixed(1)} MiB is taken${gzip ? ", gzipped" : ""}`,
      answer.status === 200,
      answer.text.slice(0, 200),
    );
    const batch = await download(`${server.url}/runs/one/batch`, gzip);
    const known = text.slice(0, -1);
    check(
      "and comes out as it went in",
      batch.hash(HEAD, HEAD + known.length) === hashOf(known),
      `${batch.length} bytes`,
    );
  }
  const peak = memory.stop() - idle;
  check(
    "a large group takes less than 128 MB",
    peak < FLOW_MEMORY_BYTES,
    `workerd grew by ${(peak / MIB).toFixed(0)} MB at most, all isolates together`,
  );

  const groups = 290;
  const part = longGroup(3.6e6);
  await send({ method: "POST", url: `${server.url}/runs/many/register`, body: registration(groups) });
  for (let index = 0; index < groups; index++)
    await send({ method: "POST", url: `${server.url}/runs/many/scored_data`, body: part });
  const before = server.workerdRss();
  const streaming = watch(server);
  const started = performance.now();
  const batch = await download(`${server.url}/runs/many/batch`, false);
  const seconds = (performance.now() - started) / 1000;
  const grown = streaming.stop() - before;
  check("a batch of 1 GB arrives whole", batch.length > 1e9, `${batch.length} bytes in ${seconds.toFixed(1)} s`);
  check(
    "and streams with flat memory",
    grown < FLOW_MEMORY_BYTES,
    `workerd grew by ${(grown / MIB).toFixed(0)} MB at most`,
  );
}

/** A long queue costs a short time to wake, and nothing to poll. */
export function longQueue(): Promise<void> {
  return withServer(pollAndWake);
}

async function pollAndWake(server: ServerProcess): Promise<void> {
  const runs = { short: `${server.url}/runs/short`, long: server.url };
  // An odd batch of groups of two is never ready.
  for (const run of Object.values(runs))
    await send({ method: "POST", url: `${run}/register`, body: registration(65_535) });
  const list = `[${Array.from({ length: 500 }, (_, i) => `{"tokens": [[${i}], [2]], "masks": [[1], [2]], "scores": [0.0, 1.0]}`).join(",")}]`;
  const fill = async (run: string, lists: number) => {
    for (let index = 0; index < lists; index++)
      await send({ method: "POST", url: `${run}/scored_data_list`, body: list });
  };
  await fill(runs.short, 2);
  await fill(runs.long, 200);
  const [short = Number.NaN, long = Number.NaN] = await pollTimes([runs.short, runs.long]);
  check(
    "an empty poll costs the same with 100,000 groups queued as with 1,000",
    long < short * 2,
    `${short.toFixed(2)} ms and ${long.toFixed(2)} ms`,
  );

  await server.stop();
  await server.start();
  const started = performance.now();
  const { text } = await send({ method: "GET", url: `${server.url}/status` });
  const wake = performance.now() - started;
  check("100,000 queued groups outlive a restart", text.includes('"queue_size":100000'), text);
  check("and the Run wakes in under 2 s", wake < 2_000, `${wake.toFixed(0)} ms`);
}

/** Median time of an empty poll of each run in milliseconds. In turns, so that what else the machine does meets all alike. */
async function pollTimes(runs: readonly string[]): Promise<number[]> {
  const times = runs.map((): number[] => []);
  for (let poll = 0; poll < 300; poll++) {
    for (const [index, run] of runs.entries()) {
      const started = performance.now();
      await send({ method: "GET", url: `${run}/batch` });
      times[index]?.push(performance.now() - started);
    }
  }
  return times.map((ofRun) => ofRun.toSorted((a, b) => a - b)[150] ?? Number.NaN);
}

function watch(server: ServerProcess): { stop(): number } {
  let peak = 0;
  const timer = setInterval(() => (peak = Math.max(peak, server.workerdRss())), 50);
  // A part that fails leaves it running, which must not keep the process up.
  timer.unref();
  return {
    stop() {
      clearInterval(timer);
      return peak;
    },
  };
}

function hashOf(text: string): string {
  return createHash("sha256").update(text).digest("hex");
}

/** Reads an answer; keeps its bytes only up to 64 MiB, so that the test itself stays small. */
function download(url: string, gzip: boolean): Promise<{ length: number; hash(from: number, to: number): string }> {
  return new Promise((resolve, reject) => {
    const outgoing = request(url, { headers: gzip ? { "accept-encoding": "gzip" } : {} }, (response) => {
      const body = response.headers["content-encoding"] === "gzip" ? response.pipe(createGunzip()) : response;
      const kept: Buffer[] = [];
      let length = 0;
      body.on("data", (chunk: Buffer) => {
        if (length < 64 * MIB) kept.push(chunk);
        length += chunk.length;
      });
      body.on("error", reject);
      response.on("error", reject);
      body.on("end", () =>
        resolve({
          length,
          hash: (from, to) => createHash("sha256").update(Buffer.concat(kept).subarray(from, to)).digest("hex"),
        }),
      );
    });
    outgoing.on("error", reject);
    outgoing.end();
  });
}
