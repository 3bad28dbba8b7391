import { createServer, type IncomingMessage } from "node:http";
import { Readable } from "node:stream";
import { FakeServer, type FakeServerOptions } from "../../../environments/kit/inference/testing.ts";

/** An inference server on a socket that remembers what it sampled. */
export interface InferenceSocket {
  readonly fake: FakeServer;
  readonly url: string;
  /** Requests that wait for an answer now. */
  readonly open: number;
  close(): Promise<void>;
}

export interface InferenceSocketOptions extends FakeServerOptions {
  /** Holds a completion back until this resolves. */
  readonly hold?: () => Promise<void>;
}

export async function startInference(options: InferenceSocketOptions = {}): Promise<InferenceSocket> {
  const fake = new FakeServer(options);
  let open = 0;
  const server = createServer((incoming, outgoing) => {
    const gone = new AbortController();
    outgoing.on("close", () => gone.abort());
    open += 1;
    void (async () => {
      try {
        const request = await toRequest(incoming, gone.signal);
        if (request.url.endsWith("/completions")) await options.hold?.();
        const response = await fake.handle(request);
        outgoing.writeHead(response.status, Object.fromEntries(response.headers));
        outgoing.end(Buffer.from(await response.arrayBuffer()));
      } catch {
        outgoing.destroy();
      } finally {
        open -= 1;
      }
    })();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    fake,
    url: `http://127.0.0.1:${address.port}`,
    get open() {
      return open;
    },
    close: () =>
      new Promise((resolve) => {
        server.closeAllConnections();
        server.close(() => resolve());
      }),
  };
}

async function toRequest(incoming: IncomingMessage, signal: AbortSignal): Promise<Request> {
  const body = incoming.method === "GET" ? null : Buffer.concat(await Readable.from(incoming).toArray());
  return new Request(`http://inference${incoming.url}`, { method: incoming.method ?? "GET", body, signal });
}
