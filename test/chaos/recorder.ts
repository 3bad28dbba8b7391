import { z } from "zod";
import type { AckAnswer, Answer, Delivery, SentGroup, Submission } from "./checker/history.ts";
import type { Finding } from "./checker/index.ts";
import { contents, digestOf } from "./digest.ts";
import type { Exchange } from "./proxy/proxy.ts";

const batchBody = z.object({
  batch: z.array(contents).nullable(),
  lease_expires_at: z.int().optional(),
});
const ackBody = z.object({ repeated: z.boolean() });

interface OpenSubmission {
  readonly client: string;
  readonly environment: number;
  readonly identity: string | null;
  readonly groups: readonly SentGroup[];
  attempts: number;
  readonly answers: Answer[];
}

/** Writes the history: what clients say they send, and what the server answers, as the proxy sees it pass. */
export class Recorder {
  readonly #submissions: OpenSubmission[] = [];
  readonly #deliveries: Delivery[] = [];
  readonly #acks: AckAnswer[] = [];
  readonly #released = new Set<number>();
  /** Numbers of exchanges that arrived whole at their client. */
  readonly #heard = new Set<number>();
  readonly #exchangeOf = new Map<Delivery, number>();
  /** Answers that no client here should get. */
  readonly #faults: string[] = [];
  #answers = 0;

  /** A client is about to send groups. Returns the number its requests carry. */
  submit(submission: Omit<Submission, "attempts" | "answers">): number {
    this.#submissions.push({ ...submission, attempts: 0, answers: [] });
    return this.#submissions.length - 1;
  }

  attempt(serial: number): void {
    const submission = this.#submissions[serial];
    if (submission !== undefined) submission.attempts += 1;
  }

  /** A trainer is about to give a batch back. */
  releasing(batch: number): void {
    this.#released.add(batch);
  }

  heard(exchange: number): void {
    this.#heard.add(exchange);
  }

  /** An answer left the server whole. */
  answered(exchange: Exchange): void {
    const { path, status, body, serial } = exchange;
    // Whoever is refused for a moment asks again; a fault of the server is a fault.
    if (status === 503 || status === 429) return;
    this.#answers += 1;
    if (serial !== null) {
      const repeated = exchange.headers["lachesis-repeated"] === "true";
      this.#submissions[serial]?.answers.push({ status, body, repeated });
    } else if (path.startsWith("/batch?")) this.#batch(exchange);
    else if (path.endsWith("/release")) this.#release(path, status, body);
    else if (path.endsWith("/ack")) this.#ack(exchange);
    // A lease may be over when a request about it comes.
    else if (status >= 400 && !(status === 409 && path.startsWith("/leases/")))
      this.#faults.push(`${exchange.method} ${path} was answered ${status}: ${body.slice(0, 200)}`);
  }

  get submissions(): readonly Submission[] {
    return this.#submissions;
  }

  get deliveries(): readonly Delivery[] {
    return this.#deliveries.map((delivery) => {
      return { ...delivery, heard: this.#heard.has(this.#exchangeOf.get(delivery) ?? -1) };
    });
  }

  get released(): readonly number[] {
    return [...this.#released];
  }

  get acks(): readonly AckAnswer[] {
    return this.#acks;
  }

  /** Whether all definite answers were ones that clients which do nothing wrong may get. */
  finding(): Finding {
    return { check: "no answer is a refusal without a cause", checked: this.#answers, faults: this.#faults };
  }

  #batch({ number, path, status, body, headers, sentAt, answeredAt, client }: Exchange): void {
    if (status !== 200) {
      this.#faults.push(`a request for a batch was answered ${status}: ${body.slice(0, 200)}`);
      return;
    }
    const { batch, lease_expires_at } = batchBody.parse(JSON.parse(body));
    if (batch === null) return;
    const query = new URLSearchParams(path.slice(path.indexOf("?")));
    const delivery = {
      batch: Number(headers["lachesis-batch"]),
      slice: query.has("rank") ? { rank: Number(query.get("rank")), of: Number(query.get("world_size")) } : null,
      step: Number(headers["lachesis-step"]),
      groups: batch.map(({ chaos }) => chaos),
      digests: batch.map(digestOf),
      askedAt: sentAt,
      answeredAt,
      heldUntil: lease_expires_at ?? 0,
      trainer: client,
      heard: false,
    };
    this.#deliveries.push(delivery);
    this.#exchangeOf.set(delivery, number);
  }

  #release(path: string, status: number, body: string): void {
    if (status !== 200 && status !== 409) this.#faults.push(`${path} was answered ${status}: ${body.slice(0, 200)}`);
  }

  #ack({ path, client, status, body, sentAt, answeredAt }: Exchange): void {
    const batch = Number(path.split("/")[2]);
    if (status !== 200 && status !== 409) this.#faults.push(`${path} was answered ${status}: ${body.slice(0, 200)}`);
    const repeated = status === 200 && ackBody.parse(JSON.parse(body)).repeated;
    this.#acks.push({
      batch,
      trainer: client,
      status,
      repeated,
      askedAt: sentAt,
      answeredAt,
      answeredTime: Date.now(),
    });
  }
}
