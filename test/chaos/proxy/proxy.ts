import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { Clock } from "../clock.ts";
import type { Counts } from "../counts.ts";
import { pause, Random } from "../random.ts";
import { FAULTS, type Fault } from "./faults.ts";
import { type Cut, forward, type Incoming, type Outgoing } from "./upstream.ts";

/** Who sends a request, and what it is a part of. The server doesn't get to see these. */
export const CLIENT_HEADER = "x-chaos-client";
export const SERIAL_HEADER = "x-chaos-serial";
/** In an answer: the number of its exchange. */
export const EXCHANGE_HEADER = "x-chaos-exchange";

/** A request that went to the server and whose answer came back whole. */
export interface Exchange {
  readonly number: number;
  readonly client: string;
  /** Of the submission it belongs to. */
  readonly serial: number | null;
  readonly method: string;
  readonly path: string;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Sender {
  readonly client: string;
  readonly serial: number | null;
}

export interface ProxyOptions {
  readonly seed: number;
  readonly clock: Clock;
  readonly counts: Counts;
  readonly onExchange: (exchange: Exchange) => void;
}

const LONGEST_DELAY_MS = 600;
/** A request that is held back goes on after so many later ones, or when nobody comes. */
const OVERTAKERS = 4;
const LONGEST_HOLD_MS = 1_500;
const REPEATED_WITHIN_MS = 4_000;
const CUT_WITHIN_MS = 25;

/** Stands between clients and server, and does to their requests what networks, load balancers and eager retries do. */
export class ChaosProxy {
  readonly #options: ProxyOptions;
  readonly #server: Server;
  readonly #streams = new Map<string, Random>();
  readonly #open = new Set<Promise<unknown>>();
  #target: URL | null = null;
  #exchanges = 0;
  #arrivals = 0;
  #isCalm = false;

  constructor(options: ProxyOptions) {
    this.#options = options;
    this.#server = createServer((incoming, outgoing) => {
      this.#track(this.#serve(incoming, outgoing).catch(() => outgoing.destroy()));
    });
  }

  async start(target: URL): Promise<URL> {
    this.#target = target;
    await new Promise<void>((resolve) => this.#server.listen(0, "127.0.0.1", resolve));
    const address = this.#server.address();
    if (address === null || typeof address === "string") throw new Error("no port");
    return new URL(`http://127.0.0.1:${address.port}`);
  }

  /** From now on requests pass as they are. Resolves when nothing of the others is left. */
  async calm(): Promise<void> {
    this.#isCalm = true;
    while (this.#open.size > 0) await Promise.allSettled([...this.#open]);
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const { counts, seed } = this.#options;
    const request = await read(incoming);
    const { client } = request.sender;
    this.#arrivals += 1;
    counts.add("requests");
    const random = this.#streams.get(client) ?? new Random(seed, `proxy/${client}`);
    this.#streams.set(client, random);
    const fault: Fault = this.#isCalm ? "none" : random.pick(FAULTS);
    if (fault !== "none") counts.add(`requests_${fault}`);
    switch (fault) {
      case "none":
        return answer(outgoing, await this.#forward(request));
      case "delayed":
        await pause(random.between(20, LONGEST_DELAY_MS));
        return answer(outgoing, await this.#forward(request));
      case "held_back":
        await this.#overtaken();
        return answer(outgoing, await this.#forward(request));
      case "duplicated": {
        const both = [this.#forward(request), this.#forward(request)];
        const first = await Promise.any(both);
        answer(outgoing, first);
        await Promise.allSettled(both);
        return;
      }
      case "repeated": {
        answer(outgoing, await this.#forward(request));
        this.#track(this.#later(random.between(200, REPEATED_WITHIN_MS), request));
        return;
      }
      case "cut_before":
        outgoing.destroy();
        return;
      case "cut_request":
        outgoing.destroy();
        await this.#forward(request, { bodyAfter: request.body.length >> 1 });
        return;
      case "cut_waiting":
        outgoing.destroy();
        await this.#forward(request, { waitingAfter: random.between(0, CUT_WITHIN_MS) });
        return;
      case "cut_unanswered":
        await this.#forward(request);
        outgoing.destroy();
        return;
      case "cut_answer": {
        const { status, headers, body } = await this.#forward(request);
        outgoing.writeHead(status, { ...headers, "content-length": body.length });
        outgoing.write(body.subarray(0, body.length >> 1), () => outgoing.destroy());
        return;
      }
    }
  }

  async #overtaken(): Promise<void> {
    const goal = this.#arrivals + OVERTAKERS;
    const deadline = performance.now() + LONGEST_HOLD_MS;
    while (this.#arrivals < goal && performance.now() < deadline && !this.#isCalm) await pause(10);
  }

  async #later(milliseconds: number, request: Read): Promise<void> {
    const deadline = performance.now() + milliseconds;
    while (performance.now() < deadline && !this.#isCalm) await pause(20);
    if (!this.#isCalm) await this.#forward(request).catch(() => undefined);
  }

  async #forward(request: Read, cut?: Cut): Promise<Incoming> {
    if (this.#target === null) throw new Error("the proxy has not been started");
    const { clock, onExchange } = this.#options;
    const sentAt = clock();
    const incoming = await forward(this.#target, request, cut);
    const { status, headers, body } = incoming;
    const number = this.#exchanges++;
    const { method, path, sender } = request;
    onExchange({
      number,
      ...sender,
      method,
      path,
      sentAt,
      answeredAt: clock(),
      status,
      headers,
      body: body.toString(),
    });
    return { ...incoming, headers: { ...headers, [EXCHANGE_HEADER]: `${number}` } };
  }

  #track(work: Promise<unknown>): void {
    this.#open.add(work);
    void work.finally(() => this.#open.delete(work));
  }
}

type Read = Outgoing & { readonly sender: Sender };

const HOP_BY_HOP = new Set(["host", "connection", "content-length", "transfer-encoding", "accept-encoding"]);

async function read(incoming: IncomingMessage): Promise<Read> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  const { [CLIENT_HEADER]: client, [SERIAL_HEADER]: serial, ...rest } = incoming.headers;
  const headers = Object.entries(rest).flatMap(([name, value]) =>
    HOP_BY_HOP.has(name) || value === undefined ? [] : [[name, String(value)] as const],
  );
  return {
    method: incoming.method ?? "GET",
    path: incoming.url ?? "/",
    headers: Object.fromEntries(headers),
    body: Buffer.concat(chunks),
    sender: { client: String(client), serial: serial === undefined ? null : Number(serial) },
  };
}

function answer(outgoing: ServerResponse, { status, headers, body }: Incoming): void {
  const { "transfer-encoding": _, connection: __, ...kept } = headers;
  outgoing.writeHead(status, { ...kept, "content-length": body.length });
  outgoing.end(body);
}
