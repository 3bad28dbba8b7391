import { Agent, request } from "node:http";

export interface Outgoing {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

export interface Incoming {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
}

/** Where a connection to the server is cut. */
export interface Cut {
  /** Bytes of the request's body after which it is. */
  readonly bodyAfter?: number;
  /** Milliseconds after the request has left. */
  readonly waitingAfter?: number;
}

const agent = new Agent({ keepAlive: true, maxSockets: 256 });

/**
 * Sends a request on to the server.
 * @throws when there is no whole answer.
 */
export function forward(target: URL, { method, path, headers, body }: Outgoing, cut: Cut = {}): Promise<Incoming> {
  return new Promise((resolve, reject) => {
    const length = method === "GET" ? {} : { "content-length": `${body.length}` };
    const outgoing = request(
      new URL(path, target),
      { method, agent, headers: { ...headers, ...length } },
      (response) => {
        const chunks: Buffer[] = [];
        response.on("data", (chunk: Buffer) => chunks.push(chunk));
        response.on("error", reject);
        response.on("end", () => {
          if (!response.complete) return reject(new Error("the answer broke off"));
          resolve({
            status: response.statusCode ?? 0,
            headers: Object.fromEntries(
              Object.entries(response.headers).map(([name, value]) => [name, String(value)] as const),
            ),
            body: Buffer.concat(chunks),
          });
        });
      },
    );
    outgoing.on("error", reject);
    if (cut.bodyAfter !== undefined) {
      outgoing.write(body.subarray(0, cut.bodyAfter), () => outgoing.destroy(new Error("cut")));
      return;
    }
    outgoing.end(body);
    const { waitingAfter } = cut;
    if (waitingAfter !== undefined)
      outgoing.on("finish", () => setTimeout(() => outgoing.destroy(new Error("cut")), waitingAfter));
  });
}
