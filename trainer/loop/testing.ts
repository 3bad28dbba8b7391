import { once } from "node:events";
import { createServer, type IncomingMessage, type Server } from "node:http";
import { z } from "zod";
import type { LoopEvent } from "./events.ts";
import type { Learner, Metrics } from "./learner.ts";

const ackBody = z.object({ step: z.int(), metrics: z.record(z.string(), z.number()) });

/** A run that serves given batches, as the API does, and notes what a trainer does to it. */
export class FakeRun {
  /** What was asked, in order, without the polls: `register`, `policy 3`, `take 1`, `ack 1`, `release 1`. */
  readonly calls: string[] = [];
  readonly acks: z.infer<typeof ackBody>[] = [];
  registrations: Record<string, unknown>[] = [];
  /** The step that /status tells; null for that of the last batch that is done. */
  step: number | null = null;
  /** How its one environment stands at each look at `/environments`; the last one stays. */
  evaluations: readonly Stand[] = [null];
  looks = 0;
  /** Called with each call; what it returns is answered instead. */
  interfere: (call: string) => number | undefined = () => undefined;
  /** The step of a batch, by its id. */
  stepOf: (batch: number) => number = (batch) => batch;
  readonly #batches: readonly (readonly object[])[];
  readonly #done = new Set<number>();
  #server: Server | null = null;
  #port = 0;

  constructor(batches: readonly (readonly object[])[]) {
    this.#batches = batches;
  }

  get url(): string {
    return `http://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    this.#server = createServer((request, response) => {
      void this.#answer(request).then(({ status, headers, body }) => {
        response.writeHead(status, { "content-type": "application/json", ...headers });
        response.end(JSON.stringify(body));
      });
    });
    this.#server.listen(this.#port, "127.0.0.1");
    await once(this.#server, "listening");
    const address = this.#server.address();
    if (typeof address === "object" && address !== null) this.#port = address.port;
  }

  async stop(): Promise<void> {
    this.#server?.closeAllConnections();
    await new Promise((resolve) => (this.#server === null ? resolve(null) : this.#server.close(resolve)));
    this.#server = null;
  }

  async #answer(
    request: IncomingMessage,
  ): Promise<{ status: number; headers?: Record<string, string>; body: unknown }> {
    let text = "";
    for await (const chunk of request) text += String(chunk);
    const body: unknown = text === "" ? {} : JSON.parse(text);
    const path = (request.url ?? "").split("?", 1)[0] ?? "";
    if (path === "/status") return { status: 200, body: statusOf(this.step ?? Math.max(0, ...this.#done)) };
    if (path === "/environments") {
      const stands = this.evaluations[Math.min(this.looks++, this.evaluations.length - 1)] ?? null;
      return { status: 200, body: { environments: [environmentThat(stands)] } };
    }
    const change = /^\/batches\/(\d+)\/(ack|release)$/.exec(path);
    const next = this.#batches.findIndex((_, index) => !this.#done.has(index + 1)) + 1;
    const call =
      change === null
        ? path === "/policy"
          ? `policy ${String(Object(body)["version"])}`
          : path === "/batch"
            ? `take ${next}`
            : path.slice(1)
        : `${change[2]} ${change[1]}`;
    this.calls.push(call);
    const instead = this.interfere(call);
    if (instead !== undefined) return { status: instead, body: { detail: "interfered" } };
    if (change !== null) {
      const id = Number(change[1]);
      if (change[2] === "ack") {
        this.acks.push(ackBody.parse(body));
        this.#done.add(id);
      }
      const status = change[2] === "ack" ? "acknowledged" : "released";
      return { status: 200, body: { status, batch_id: id, repeated: false } };
    }
    if (path === "/register") {
      this.registrations.push({ ...Object(body) });
      return { status: 200, body: { uuid: 1 } };
    }
    if (path === "/policy") return { status: 200, body: { version: 0, published: true, endpoints: [] } };
    const headers = { "lachesis-batch": `${next}`, "lachesis-step": `${this.stepOf(next)}` };
    return { status: 200, headers, body: { batch: this.#batches[next - 1] ?? null } };
  }
}

function statusOf(step: number) {
  return {
    current_step: step,
    queue_size: 0,
    explain: { reason: "ready", message: "", queued_sequences: 0 },
    received_groups: 0,
    environments: { connected: 0, alive: 0 },
    admission: { limit_sequences: null, held_sequences: 0, leased_sequences: 0, open_leases: 0 },
  };
}

/** Its evaluation; one that has to evaluate may have been told to go, long ago or just now. */
export type Stand = "due" | "under_way" | "due and gone" | "due and just gone" | null;

function environmentThat(stands: Stand) {
  const last_heard_seconds = stands === "due and gone" ? 91 : 5;
  const alive = stands === "due" || stands === "under_way";
  return {
    ...{ env_id: 0, name: "math_0", connected: true, alive, last_heard_seconds, weight: 1 },
    ...{ floor: null, group_size: 8, queued_sequences: 0, leased_sequences: 0, next_item: 0, backlog_items: 0 },
    ...{ outcomes: {}, handed_out_groups: 0, handed_out_sequences: 0, share: 0, staleness: {} },
    evaluation: stands === null || stands === "under_way" ? stands : "due",
  };
}

const fakeGroup = z.object({ scores: z.array(z.number()) });

/** Its one weight depends on every score, and on their order, in the last bit. */
export class FakeLearner implements Learner {
  readonly settings: Readonly<Record<string, string | number>>;
  weight: number;
  /** Throws instead of learning while it is above 0. */
  failures = 0;

  constructor(seed = 1) {
    this.settings = { seed };
    this.weight = seed;
  }

  learn(groups: readonly unknown[]): Metrics {
    if (this.failures > 0) {
      this.failures -= 1;
      throw new Error("can't learn this");
    }
    const scores = groups.flatMap((group) => fakeGroup.parse(group).scores);
    for (const score of scores) this.weight = Math.sin(this.weight * 1.7 + score);
    return {
      reward_mean: scores.reduce((sum, score) => sum + score, 0) / scores.length,
      loss: this.weight,
      odd: Number.NaN,
    };
  }

  save(): Uint8Array {
    return new Uint8Array(new Float64Array([this.weight]).buffer);
  }

  load(saved: Uint8Array): void {
    this.weight = new DataView(saved.buffer, saved.byteOffset).getFloat64(0, true);
  }
}

/** Batches of one group each. */
export function fakeBatches(count: number): object[][] {
  return Array.from({ length: count }, (_, index) => [
    { scores: [index / 7, -index / 3], policy_version: Math.max(0, index - 1) },
  ]);
}

/** Collects events. */
export function recorder(): { events: LoopEvent[]; onEvent: (event: LoopEvent) => void } {
  const events: LoopEvent[] = [];
  return { events, onEvent: (event) => void events.push(event) };
}
