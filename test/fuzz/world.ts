import { type JudgedGroup, judgeGroups } from "./groups-oracle.ts";
import type { FuzzedRoute } from "./routes.ts";
import { type Answered, post, read, restart, send } from "./sent.ts";
import { judgeSettings, type Verdict } from "./settings-oracle.ts";
import { type Section, type Snapshot, snapshot } from "./snapshot.ts";
import type { Posted } from "./texts.ts";

/** One request to a run. */
export interface Attempt {
  readonly route: FuzzedRoute;
  readonly path: string;
  readonly posted: Posted;
  readonly headers: Readonly<Record<string, string>>;
}

interface Judged {
  readonly verdict: Verdict;
  /** Of a body with groups that is valid. */
  readonly groups?: readonly JudgedGroup[];
}

/** Largest body of a route that doesn't say otherwise. */
const SMALL_BODY_BYTES = 64 * 1024;
export const BATCH_SIZE = 4;

/** Batches that are open when a run is restarted. */
const BATCHES_AT_RESTART = 20;

/** Statuses a request may be refused with, whatever its body. */
const REFUSALS = new Set([400, 404, 409, 413, 415, 422]);

let worlds = 0;

/** A run with everything in it that a request may touch: two environments, leases, a leased batch, a queue, a state. */
export class World {
  readonly #run: string;
  readonly #at: string;
  #before: Snapshot | null = null;
  #refused: { readonly route: FuzzedRoute; readonly shown: string }[] = [];
  readonly #keys = new Set<string>();

  private constructor(run: string) {
    this.#run = run;
    this.#at = `/runs/${run}`;
  }

  static async begin(): Promise<World> {
    const run = `fuzz-${worlds++}`;
    const at = `/runs/${run}`;
    const settings = { wandb_group: null, wandb_project: null, batch_size: BATCH_SIZE, max_token_len: 64 };
    const steps = { save_checkpoint_interval: 10, starting_step: 3, num_steps: 1_000, payload_shards: 1 };
    await post(`${at}/register`, { ...settings, ...steps, checkpoint_dir: "/c", max_batches_offpolicy: 100 });
    const endpoint = { url: "http://one.example", model: "m" };
    await post(`${at}/policy`, { version: 3, endpoints: [endpoint, { ...endpoint, model: "n" }] });
    const environment = { max_token_length: 64, desired_name: "math", weight: 1, lease_seconds: 3_600 };
    await post(`${at}/register-env`, { ...environment, group_size: 4, key: "a" });
    await post(`${at}/register-env`, { ...environment, group_size: 1 });
    const group = { tokens: Array(4).fill([1]), masks: Array(4).fill([1]), scores: [1, 0, 1, 0], env_id: 0 };
    await post(`${at}/scored_data_list`, [group, group, group]);
    await send("GET", `${at}/batch?lease=3600`);
    await post(`${at}/scored_data_list`, [group, group]);
    await post(`${at}/leases`, { env_id: 0, count: 20 });
    await send("PUT", `${at}/environments/0/state`, '{"version": 0, "state": {"seen": 1}}');
    return new World(run);
  }

  /** Sends a request and holds what came of it against what the documentation says. @throws Error that shows both. */
  async attempt(attempt: Attempt): Promise<"taken" | "refused" | "not sent"> {
    const { route, posted } = attempt;
    const judged = judge(attempt);
    if (waits(attempt)) return "not sent";
    if (judged.verdict !== "refused" && this.#mayHide(attempt, judged)) await this.settle();
    const before = this.#before ?? (await this.#look());
    this.#before = before;
    const answer = await send(route.method, `${this.#at}${attempt.path}`, posted.bytes, {
      ...posted.headers,
      ...attempt.headers,
    });
    const fail = (what: string): never => {
      throw new Error(`${what}\n${shown(attempt)}\nanswer: ${answer.status} ${answer.text.slice(0, 500)}`);
    };
    const isTaken = answer.status === 200 || answer.status === route.alsoTaken;
    if (answer.status >= 500 && !isTaken) fail("a server's fault");
    checkAnswer(answer, fail);
    if (!isTaken) {
      if (!REFUSALS.has(answer.status)) fail("refused with an unexpected status");
      if (judged.verdict === "valid" && !mayBeRefused(attempt, answer.status)) fail("valid, and refused");
      this.#refused.push({ route, shown: `${shown(attempt)}\nanswer: ${answer.status} ${answer.text.slice(0, 200)}` });
      return "refused";
    }
    if (judged.verdict === "refused") fail("not valid, and taken");
    const after = await this.#look();
    this.#before = after;
    const earlier = this.#refused.map((each) => `\nrefused before: ${each.shown}`).join("");
    this.#refused = [];
    const repeated = answer.headers.get("lachesis-repeated") !== null || this.#isRepeated(attempt, judged);
    const changes = repeated ? [] : mayChange(attempt);
    const changed = differences(before, after).filter((section) => !changes.includes(section));
    if (changed.length > 0) fail(`taken, and changed ${changed.join(", ")}: ${show(before, after, changed)}${earlier}`);
    if ("groups" in route.judged && judged.verdict === "valid" && !repeated)
      this.#checkTaken(judged, before, after, fail);
    return "taken";
  }

  /** Whether what a refused request changed could pass for what this one changes. Of valid groups the number is known. */
  #mayHide({ route }: Attempt, { verdict }: Judged): boolean {
    const isCounted = "groups" in route.judged && verdict === "valid";
    return this.#refused.some(
      ({ route: { judged, changes } }) =>
        !(isCounted && "groups" in judged) && changes.some((section) => route.changes.includes(section)),
    );
  }

  /** Holds the run against what it was before the last requests that were refused. */
  async settle(): Promise<void> {
    if (this.#refused.length === 0 || this.#before === null) return;
    const after = await this.#look();
    const changed = differences(this.#before, after);
    if (changed.length > 0) {
      const refused = this.#refused.map((each) => each.shown).join("\n");
      throw new Error(`refused, and changed ${changed.join(", ")}: ${show(this.#before, after, changed)}\n${refused}`);
    }
    this.#refused = [];
  }

  /** What was taken has to be there after a restart, in batches too. */
  async outliveRestart(): Promise<void> {
    await this.settle();
    for (let batch = 0; batch < BATCHES_AT_RESTART; batch++) await send("GET", `${this.#at}/batch?lease=3600`);
    const before = await this.#look();
    await restart(this.#run);
    const after = await this.#look();
    // Failures of endpoints are forgotten, on purpose.
    const changed = differences(before, after).filter((section) => section !== "load");
    if (changed.length > 0) throw new Error(`a restart changed ${changed.join(", ")}: ${show(before, after, changed)}`);
  }

  #look(): Promise<Snapshot> {
    return snapshot((path) => read(`${this.#at}${path}`));
  }

  /** The queue has grown by exactly the groups of a request. */
  #checkTaken(judged: Judged, before: Snapshot, after: Snapshot, fail: (what: string) => never): void {
    const { groups = [] } = judged;
    const sequences = groups.reduce((sum, group) => sum + group.sequences, 0);
    const grown = [after.received - before.received, after.sequences - before.sequences];
    if (grown.join() !== [groups.length, sequences].join())
      fail(
        `${groups.length} groups with ${sequences} sequences were taken, and the run has ${grown.join(" with ")} more`,
      );
  }

  /** A lease or a key that groups came under already: the same again changes nothing. */
  #isRepeated({ route, headers }: Attempt, { groups = [] }: Judged): boolean {
    if (!("groups" in route.judged) || groups.length === 0) return false;
    const names = Object.entries(headers)
      .filter(([name]) => name === "lachesis-lease" || name === "idempotency-key")
      .map(([name, value]) => `${name} ${name === "lachesis-lease" ? Number(value) : value.trim()}`);
    const known = names.some((name) => this.#keys.has(name));
    for (const name of names) this.#keys.add(name);
    return known;
  }
}

/** What the documentation says of a request's body. */
function judge({ route, path, posted, headers }: Attempt): Judged {
  const { judged: how } = route;
  // Whoever says in the query which environment is meant sends a body in vain.
  if (path.includes("?")) return { verdict: "open" };
  if (posted.intact === "no") return { verdict: "refused" };
  if (posted.intact === "perhaps" || "idempotency-key" in headers) return { verdict: "open" };
  if ("groups" in how) {
    const lease = headers["lachesis-lease"];
    if (lease !== undefined && !/^\s*\d{1,9}(\.0)?\s*$/.test(lease)) return { verdict: "open" };
    const judged = judgeGroups(posted.text, how.groups);
    return lease === undefined && isTooLarge(judged) ? { verdict: "refused" } : judged;
  }
  if (posted.text.length > (route.bodyBytes ?? SMALL_BODY_BYTES)) return { verdict: "refused" };
  const text = new TextDecoder("utf-8", { ignoreBOM: true, fatal: false }).decode(posted.text);
  // Whether small bodies may begin with a byte order mark, or hold what is not UTF-8, nobody says.
  if (text.startsWith("\ufeff") || text.includes("\ufffd")) return { verdict: "open" };
  return { verdict: judgeSettings(text, how) };
}

/** Whether a valid body may be refused for what the run is: an id nobody has, a group too large for a batch. */
function mayBeRefused(attempt: Attempt, status: number): boolean {
  const { route, path, headers, posted } = attempt;
  // Leases and batches count from 1.
  if (/^\/(leases|batches)\/0\//.test(path)) return true;
  if (path !== route.path.replace("{id}", /\/(\d)(\/|$)/.exec(path)?.[1] ?? "")) return true;
  if (!("groups" in route.judged)) return route.answers.includes(status);
  if ("lachesis-lease" in headers) return status === 409 || status === 422;
  return status === 422 && isTooLarge(judgeGroups(posted.text, route.judged.groups));
}

/** Whether a group among them can never fit a batch. */
function isTooLarge({ groups = [] }: Judged): boolean {
  return groups.some(({ sequences }) => sequences > BATCH_SIZE);
}

/** A request that would hold the test up. */
function waits({ route, posted }: Attempt): boolean {
  const [, wait] = /"wait":"?\s*([^,}]*)/.exec(new TextDecoder().decode(posted.text)) ?? [];
  return route.path === "/leases" && wait !== undefined && wait !== "0" && wait !== "0.001";
}

function mayChange({ route, posted, headers }: Attempt): readonly Section[] {
  if ("groups" in route.judged) {
    const own: Section[] = ["received", "sequences", "queue"];
    return "lachesis-lease" in headers ? [...own, ...route.changes] : own;
  }
  const rewinds = new TextDecoder().decode(posted.text).includes("resume_from_step");
  return route.path === "/register" && !rewinds ? [] : route.changes;
}

function differences(before: Snapshot, after: Snapshot): Section[] {
  const sections = Object.keys(before).filter((name): name is Section => name in after);
  return sections.filter((name) => JSON.stringify(before[name]) !== JSON.stringify(after[name]));
}

function show(before: Snapshot, after: Snapshot, sections: readonly Section[]): string {
  const texts = sections.map((name) => `${JSON.stringify(before[name])} -> ${JSON.stringify(after[name])}`);
  return texts.join("; ").slice(0, 2_000);
}

function checkAnswer({ status, headers, text }: Answered, fail: (what: string) => never): void {
  const isJson = headers.get("content-type")?.startsWith("application/json") ?? false;
  if (!isJson) {
    if (status !== 400 || text !== "Invalid gzip payload") fail("not JSON");
    return;
  }
  try {
    const answer: unknown = JSON.parse(text);
    if (status !== 200 && !(typeof answer === "object" && answer !== null && "detail" in answer)) fail("no detail");
  } catch {
    fail("not JSON, though it says so");
  }
}

function shown({ route, path, posted, headers }: Attempt): string {
  const text = new TextDecoder("utf-8", { ignoreBOM: true, fatal: false }).decode(posted.text);
  const short = text.length > 1_000 ? `${text.slice(0, 1_000)}… (${text.length} characters)` : text;
  const intact = posted.intact === "yes" ? "" : ` (arrives: ${posted.intact})`;
  return `${route.method} ${path} ${JSON.stringify({ ...posted.headers, ...headers })}${intact}\n${JSON.stringify(short)}`;
}
