/** The clients of a run: an environment that posts groups and a trainer that takes batches. */
import { gunzipSync } from "node:zlib";
import { type Body, type Encoding, type GroupSource, type Shape, serialOf } from "./bodies.ts";
import { type Answer, Connection } from "./http.ts";

const JSON_HEADERS = { "content-type": "application/json" };
const POST_HEADERS: Record<Encoding, Record<string, string>> = {
  plain: JSON_HEADERS,
  gzip: { ...JSON_HEADERS, "content-encoding": "gzip" },
};

/** The members of the API's answers that are read here. */
interface ApiAnswer {
  readonly status?: string;
  readonly env_id?: number;
  readonly batch?: null | readonly { readonly scores: readonly number[] }[];
}

export interface Throughput {
  readonly seconds: number;
  readonly groups: number;
  /** Of JSON text, whatever the encoding on the wire. */
  readonly textBytes: number;
}

export class Client {
  readonly #url: URL;
  readonly #first: Connection;
  #others: Connection[] = [];

  constructor(url: URL) {
    this.#url = url;
    this.#first = new Connection(url);
  }

  close(): void {
    for (const connection of [this.#first, ...this.#others]) connection.close();
  }

  async reset(): Promise<void> {
    expectStatus("GET /reset_data", await this.#first.request("GET", "/reset_data"));
  }

  /**
   * Clears the server and starts over, in the order a stock trainer and environment do it.
   * @param batchSize in sequences
   * @returns the environment's id
   */
  async startRun(batchSize: number, shape: Shape): Promise<number> {
    await this.reset();
    await this.#postJson("/register", {
      wandb_group: "bench",
      wandb_project: "bench",
      batch_size: batchSize,
      max_token_len: shape.tokens,
      checkpoint_dir: "/tmp/bench",
      save_checkpoint_interval: 100,
      starting_step: 0,
      num_steps: 1_000_000,
    });
    await this.pollEmpty(); // the stock server lets no environment in before a trainer has asked for a batch
    const environment = await this.#postJson("/register-env", {
      max_token_length: shape.tokens,
      desired_name: "bench",
      weight: 1,
      group_size: shape.sequences,
      min_batch_allocation: null,
    });
    if (environment.status !== "success" || typeof environment.env_id !== "number") {
      throw new Error(`POST /register-env: expected success and an env_id, got ${JSON.stringify(environment)}`);
    }
    return environment.env_id;
  }

  /** Posts `count` groups over `concurrency` connections; `encodings` take turns. */
  async postGroups(
    source: GroupSource,
    { count, concurrency, encodings }: { count: number; concurrency: number; encodings: readonly Encoding[] },
  ): Promise<Throughput & { readonly serials: ReadonlySet<number> }> {
    const serials = new Set<number>();
    let textBytes = 0;
    let left = count;
    const seconds = await this.#overConnections(concurrency, async (connection) => {
      while (left > 0) {
        const encoding = encodings[left-- % encodings.length] as Encoding;
        const body = source.next(encoding);
        serials.add(body.serial);
        textBytes += body.textBytes;
        expectReceived(
          "POST /scored_data",
          await connection.request("POST", "/scored_data", POST_HEADERS[encoding], body.parts),
        );
      }
    });
    return { seconds, groups: count, textBytes, serials };
  }

  /** Queues `count` groups as fast as the API allows: not a measurement. */
  async fill(source: GroupSource, count: number): Promise<void> {
    const groupsPerPost = 100;
    let left = count;
    await this.#overConnections(4, async (connection) => {
      while (left > 0) {
        const groups = Math.min(groupsPerPost, left);
        left -= groups;
        const { parts } = source.list(groups);
        expectReceived(
          "POST /scored_data_list",
          await connection.request("POST", "/scored_data_list", JSON_HEADERS, parts),
        );
      }
    });
  }

  /** @returns seconds for the answer of one post, on its own. */
  async timePost(body: Body): Promise<number> {
    const start = performance.now();
    const answer = await this.#first.request("POST", "/scored_data", JSON_HEADERS, body.parts);
    const seconds = (performance.now() - start) / 1000;
    expectReceived("POST /scored_data", answer);
    return seconds;
  }

  /** @returns seconds until the server has said that no batch is ready. */
  async pollEmpty(): Promise<number> {
    const start = performance.now();
    const answer = await this.#first.request("GET", "/batch");
    const seconds = (performance.now() - start) / 1000;
    const { batch } = parse("GET /batch", answer);
    if (batch !== null) throw new Error("GET /batch: expected no batch to be ready, got one");
    return seconds;
  }

  /**
   * Takes one batch; the time runs until its last byte has arrived, and not while it is decoded and checked.
   * @param expected the serials of the groups that must be in it, each once
   */
  async takeBatch(encoding: Encoding, expected: ReadonlySet<number>): Promise<Throughput> {
    const start = performance.now();
    const answer = await this.#first.request("GET", "/batch", encoding === "gzip" ? { "accept-encoding": "gzip" } : {});
    const seconds = (performance.now() - start) / 1000;
    const gzipped = answer.headers.get("content-encoding") === "gzip";
    if (gzipped !== (encoding === "gzip")) throw new Error(`GET /batch: asked for ${encoding}, and got the other`);
    const text = decode(answer);
    checkBatch(parse("GET /batch", answer, text), expected);
    return { seconds, groups: expected.size, textBytes: text.length };
  }

  async #postJson(path: string, value: unknown): Promise<ApiAnswer> {
    const body = [Buffer.from(JSON.stringify(value))];
    return parse(`POST ${path}`, await this.#first.request("POST", path, JSON_HEADERS, body));
  }

  /** @returns seconds until every connection's work is done. */
  async #overConnections(count: number, work: (connection: Connection) => Promise<void>): Promise<number> {
    while (this.#others.length < count) this.#others.push(new Connection(this.#url));
    const start = performance.now();
    await Promise.all(this.#others.slice(0, count).map(work));
    return (performance.now() - start) / 1000;
  }
}

function decode(answer: Answer): Buffer {
  const body = Buffer.concat(answer.body);
  return answer.headers.get("content-encoding") === "gzip" ? gunzipSync(body) : body;
}

function expectStatus(what: string, answer: Answer): void {
  if (answer.status === 200) return;
  throw new Error(`${what}: expected status 200, got ${answer.status}: ${decode(answer).toString().slice(0, 500)}`);
}

function expectReceived(what: string, answer: Answer): void {
  const value = parse(what, answer);
  if (value.status !== "received") throw new Error(`${what}: expected "received", got ${JSON.stringify(value)}`);
}

function parse(what: string, answer: Answer, text = decode(answer)): ApiAnswer {
  expectStatus(what, answer);
  return JSON.parse(text.toString()) as ApiAnswer;
}

function checkBatch({ batch }: ApiAnswer, expected: ReadonlySet<number>): void {
  if (!Array.isArray(batch)) throw new Error(`GET /batch: expected a batch, got ${JSON.stringify(batch)}`);
  const serials = new Set(batch.map(({ scores }) => serialOf(scores)));
  const complete = [...expected].every((serial) => serials.has(serial));
  if (!complete || batch.length !== expected.size) {
    throw new Error(`GET /batch: expected the ${expected.size} groups just posted, got ${batch.length} groups`);
  }
}
