/** As little HTTP/1.1 as a load generator needs: one request at a time on a kept-alive socket. */
import { connect, type Socket } from "node:net";

export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  /** Still encoded, if the answer has a content-encoding. */
  readonly body: readonly Buffer[];
}

const HEAD_END = Buffer.from("\r\n\r\n");
const LINE_END = Buffer.from("\r\n");

/** Reads one answer from the pieces a socket delivers. */
export class AnswerReader {
  #pending: Buffer = Buffer.alloc(0);
  #status = 0;
  #headers: Map<string, string> | null = null;
  #body: Buffer[] = [];
  #chunked = false;
  /** Bytes of the body, or of the current chunk with its line end, that are still to come. */
  #missing = 0;

  /** @returns the answer once its last byte is there, before that null. */
  push(piece: Buffer): Answer | null {
    this.#pending = this.#pending.length === 0 ? piece : Buffer.concat([this.#pending, piece]);
    if (this.#headers === null && !this.#readHead()) return null;
    return (this.#chunked ? this.#readChunks() : this.#readLength()) ? this.#answer() : null;
  }

  #readHead(): boolean {
    const end = this.#pending.indexOf(HEAD_END);
    if (end < 0) return false;
    const [statusLine = "", ...lines] = this.#pending.toString("latin1", 0, end).split("\r\n");
    this.#pending = this.#pending.subarray(end + HEAD_END.length);
    this.#status = Number(statusLine.split(" ")[1]);
    this.#headers = new Map(
      lines.map((line) => {
        const colon = line.indexOf(":");
        return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
      }),
    );
    this.#chunked = this.#headers.get("transfer-encoding") === "chunked";
    this.#missing = Number(this.#headers.get("content-length") ?? 0);
    return true;
  }

  #readLength(): boolean {
    this.#take(Math.min(this.#missing, this.#pending.length));
    return this.#missing === 0;
  }

  #readChunks(): boolean {
    for (;;) {
      if (this.#missing > LINE_END.length) {
        this.#take(Math.min(this.#missing - LINE_END.length, this.#pending.length));
        if (this.#missing > LINE_END.length) return false;
      }
      if (this.#pending.length < this.#missing) return false;
      const end = this.#pending.indexOf(LINE_END, this.#missing);
      if (end < 0) return false;
      const size = Number.parseInt(this.#pending.toString("latin1", this.#missing, end), 16);
      if (size === 0) return this.#pending.length >= end + HEAD_END.length;
      this.#pending = this.#pending.subarray(end + LINE_END.length);
      this.#missing = size + LINE_END.length;
    }
  }

  #take(length: number): void {
    if (length === 0) return;
    this.#body.push(this.#pending.subarray(0, length));
    this.#pending = this.#pending.subarray(length);
    this.#missing -= length;
  }

  #answer(): Answer {
    return { status: this.#status, headers: this.#headers ?? new Map(), body: this.#body };
  }
}

export class Connection {
  readonly #url: URL;
  #socket: Socket | null = null;
  #reader = new AnswerReader();
  #waiting: { resolve: (answer: Answer) => void; reject: (error: Error) => void } | null = null;

  constructor(url: URL) {
    if (url.protocol !== "http:") throw new Error(`${url.origin}: the benchmark speaks only http`);
    this.#url = url;
  }

  /** @throws if the server cannot be reached or closes the connection before its answer is complete. */
  request(
    method: string,
    path: string,
    headers: Readonly<Record<string, string | number>> = {},
    body: readonly Buffer[] = [],
  ): Promise<Answer> {
    const length = body.reduce((sum, part) => sum + part.length, 0);
    const lines = Object.entries({ host: this.#url.host, ...headers, ...(length > 0 && { "content-length": length }) });
    const head = `${method} ${this.#url.pathname.replace(/\/$/, "")}${path} HTTP/1.1\r\n${lines
      .map(([name, value]) => `${name}: ${value}\r\n`)
      .join("")}\r\n`;
    return new Promise((resolve, reject) => {
      this.#waiting = { resolve, reject };
      this.#reader = new AnswerReader();
      const socket = this.#open();
      socket.cork();
      socket.write(head, "latin1");
      for (const part of body) socket.write(part);
      socket.uncork();
    });
  }

  close(): void {
    this.#socket?.destroy();
    this.#socket = null;
  }

  #open(): Socket {
    if (this.#socket) return this.#socket;
    const socket = connect({ host: this.#url.hostname, port: Number(this.#url.port || 80), noDelay: true });
    socket.on("data", (piece) => this.#receive(piece));
    socket.on("error", (error) => this.#lost(socket, error));
    socket.on("close", () => this.#lost(socket, new Error("the server closed the connection")));
    this.#socket = socket;
    return socket;
  }

  #receive(piece: Buffer): void {
    const answer = this.#reader.push(piece);
    if (!answer) return;
    if (answer.headers.get("connection")?.toLowerCase() === "close") this.close();
    const waiting = this.#waiting;
    this.#waiting = null;
    waiting?.resolve(answer);
  }

  #lost(socket: Socket, error: Error): void {
    if (this.#socket !== socket) return;
    this.#socket = null;
    this.#waiting?.reject(new Error(`${this.#url.origin}: ${error.message}`, { cause: error }));
    this.#waiting = null;
  }
}
