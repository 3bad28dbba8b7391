import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { send } from "../support/http.ts";
import { check } from "./checks.ts";
import { registration, type ServerProcess, withServer } from "./server.ts";

const ENVIRONMENTS = 10_000;
const POLLS_EACH = 2;

/** Requests under way at once. */
const CONNECTIONS = 32;

const MIB = 1024 * 1024;

/** What all of it may add to workerd, all isolates together; see "Watch it" in docs/OPERATIONS.md. */
const MEMORY_BYTES = 384 * MIB;

/** What another round of polls may add: nothing is kept for a poll, and V8 collects when it likes. */
const ROUND_BYTES = 96 * MIB;

/** Alarms write too, once, after the last request that asked for one. */
const QUIET_MS = 4_000;
const QUIET_WITHIN_MS = 40_000;

/** Ten thousand environments register, poll and post: with bounded memory, and without a write for a poll. */
export function manyEnvironments(): Promise<void> {
  return withServer(registerPollAndPost);
}

async function registerPollAndPost(server: ServerProcess): Promise<void> {
  // A batch that is never formed, so that the queue holds what comes.
  await post(server, "/register", registration(65_536));
  const idle = server.workerdRss();

  const registering = await eachEnvironment(1, (name) => post(server, "/register-env", environment(name)));
  report("registering", registering);
  const registered = server.workerdRss();

  await quiet(server);
  const before = writes(server);
  const polling = await eachEnvironment(POLLS_EACH, (id) => poll(server, id));
  report("polls alone", polling);
  const polls = polling.milliseconds.length;
  const written = differences(before, writes(server));
  check(`${polls} polls of ${ENVIRONMENTS} environments write nothing`, written.length === 0, written.join(", "));

  const mixed: { polls: Timing; posts: Timing } = {
    polls: { milliseconds: [], seconds: 0 },
    posts: { milliseconds: [], seconds: 0 },
  };
  const both = await eachEnvironment(1, async (id) => {
    await timed(mixed.polls, () => poll(server, id));
    await timed(mixed.posts, () => post(server, "/scored_data", group(id)));
  });
  report("polls among posts", { ...mixed.polls, seconds: both.seconds });
  report("posts among polls", { ...mixed.posts, seconds: both.seconds });
  const seen = differences(before, writes(server));
  check("posts do write, where polls didn't: the check above can fail", seen.length > 0, seen.join(", "));

  const { text } = await send({ method: "GET", url: `${server.url}/status?explain` });
  const all = `"registered":${ENVIRONMENTS},"connected":${ENVIRONMENTS}`;
  check("all are registered and connected", text.includes(all), text.slice(0, 300));
  check("every group is queued", text.includes(`"queue_size":${ENVIRONMENTS},`), text.slice(0, 100));

  const grown = server.workerdRss() - idle;
  const detail = `${mib(registered - idle)} by registering, ${mib(grown)} in all, of ${mib(MEMORY_BYTES)}`;
  check("workerd's memory stays bounded", grown < MEMORY_BYTES, detail);
  report("polls of a long queue", await eachEnvironment(POLLS_EACH, (id) => poll(server, id)));
  const more = server.workerdRss() - idle - grown;
  check("and polls add nothing to it", more < ROUND_BYTES, `${mib(more)} by another ${polls}, of ${mib(ROUND_BYTES)}`);
}

interface Timing {
  readonly milliseconds: number[];
  /** From the first to the last. */
  readonly seconds: number;
}

/** Does something for each environment, `rounds` times, some at once. */
async function eachEnvironment(rounds: number, act: (id: number) => Promise<void>): Promise<Timing> {
  const timing: Timing = { milliseconds: [], seconds: 0 };
  const started = performance.now();
  let next = 0;
  const connection = async () => {
    while (next < rounds * ENVIRONMENTS) {
      const id = next++ % ENVIRONMENTS;
      await timed(timing, () => act(id));
    }
  };
  await Promise.all(Array.from({ length: CONNECTIONS }, connection));
  return { ...timing, seconds: (performance.now() - started) / 1000 };
}

async function timed(timing: Timing, act: () => Promise<void>): Promise<void> {
  const started = performance.now();
  await act();
  timing.milliseconds.push(performance.now() - started);
}

async function post(server: ServerProcess, path: string, body: string): Promise<void> {
  const { status, text } = await send({ method: "POST", url: `${server.url}${path}`, body });
  if (status !== 200) throw new Error(`${path} was answered ${status}: ${text}`);
}

/** As a stock environment does: a GET that says in its body who asks. */
async function poll(server: ServerProcess, id: number): Promise<void> {
  const { status, text } = await send({ method: "GET", url: `${server.url}/status-env`, body: `{"env_id": ${id}}` });
  if (status !== 200) throw new Error(`/status-env of ${id} was answered ${status}: ${text}`);
}

function environment(name: number): string {
  return JSON.stringify({ max_token_length: 64, desired_name: `environment-${name}`, weight: 1, group_size: 2 });
}

function group(id: number): string {
  return `{"tokens": [[${id}, 2, 3], [4, 5]], "masks": [[1, 2, 3], [4, 5]], "scores": [0.0, 1.0], "env_id": ${id}}`;
}

/** When each database of the objects was written last, and how long it is. SQLite's -shm files are memory. */
function writes(server: ServerProcess): Map<string, string> {
  const folder = join(server.state, "do");
  const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) =>
    /\.sqlite(-wal)?$/.test(file),
  );
  return new Map(
    files.map((file) => {
      const { mtimeMs, size } = statSync(join(folder, file));
      return [file, `${mtimeMs} ${size}`];
    }),
  );
}

function differences(before: ReadonlyMap<string, string>, after: ReadonlyMap<string, string>): string[] {
  return [...after].filter(([file, state]) => before.get(file) !== state).map(([file]) => file.slice(-24));
}

/** Resolves when nothing has been written for a while. */
async function quiet(server: ServerProcess): Promise<void> {
  const deadline = Date.now() + QUIET_WITHIN_MS;
  let last = writes(server);
  let since = Date.now();
  while (Date.now() - since < QUIET_MS) {
    if (Date.now() > deadline) throw new Error("the objects go on writing with nobody asking them to");
    await new Promise((resolve) => setTimeout(resolve, 200));
    const now = writes(server);
    if (differences(last, now).length > 0) since = Date.now();
    last = now;
  }
}

function report(what: string, { milliseconds, seconds }: Timing): void {
  const sorted = milliseconds.toSorted((a, b) => a - b);
  const at = (share: number) => (sorted[Math.floor(share * (sorted.length - 1))] ?? Number.NaN).toFixed(1);
  const rate = (milliseconds.length / seconds).toFixed(0);
  console.log(
    `     ${what}: ${milliseconds.length} in ${seconds.toFixed(1)} s, ${rate}/s; p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms`,
  );
}

function mib(bytes: number): string {
  return `${(bytes / MIB).toFixed(0)} MB`;
}
