import { createServer, type RequestListener, type Server } from "node:http";
import { afterEach, beforeAll, expect, test } from "vitest";
import { openInference, serverRenderer } from "./index.ts";
import { FakeServer, fakeEndpoint } from "./testing.ts";

/** Real sockets: what a stub can't show of a server that hangs or breaks off. */

let server: Server | undefined;

afterEach(() => {
  server?.closeAllConnections();
  server?.close();
});

async function listen(listener: RequestListener): Promise<string> {
  const opened = createServer(listener);
  server = opened;
  await new Promise<void>((resolve) => opened.listen(0, "127.0.0.1", resolve));
  const address = opened.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return `http://127.0.0.1:${address.port}/v1`;
}

function open(url: string, timeoutMs: number) {
  return openInference(fakeEndpoint({ url }), {
    purpose: "training",
    secretOf: () => undefined,
    timeoutMs,
    wait: async () => {},
  });
}

const ASK = { prompt: [1, 2, 3], n: 1, maxTokens: 16, temperature: 1 };

/** The first request of a process takes long to leave it. */
beforeAll(async () => {
  await fetch(await listen((_, response) => void response.end()));
  server?.close();
});

/** Where time runs out, after so long; elsewhere it must not. */
const SHORT_MS = 2_000;
const LONG_MS = 30_000;

test.each<[string, RequestListener, string, string]>([
  ["never answers", () => {}, "timeout", "no complete headers within 2 s"],
  [
    "stops in its answer",
    (_, response) => void response.writeHead(200).write('{"choices":['),
    "timeout",
    "no complete body",
  ],
  ["closes at once", (request) => void request.socket.destroy(), "unreachable", "could not be reached"],
  [
    "breaks off its answer",
    (_, response) => {
      response.writeHead(200, { "content-length": "1000" });
      response.write('{"choices":[', () => response.destroy());
    },
    "unreachable",
    "broke off its answer",
  ],
])("a server that %s", async (_, listener, reason, says) => {
  let requests = 0;
  const url = await listen((request, response) => {
    requests++;
    listener(request, response);
  });
  const asked = open(url, reason === "timeout" ? SHORT_MS : LONG_MS).complete(ASK);
  await expect(asked).rejects.toMatchObject({ reason, endpointFault: true, message: expect.stringContaining(says) });
  expect(requests).toBe(reason === "timeout" ? 1 : 3);
});

test("the fake server behind a socket", async () => {
  const fake = new FakeServer();
  const url = await listen(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length === 0 ? {} : { body: Buffer.concat(chunks) };
    const answer = await fake.handle(
      new Request(`http://fake${request.url}`, { method: request.method ?? "GET", ...body }),
    );
    response.writeHead(answer.status, { "content-type": "application/json" }).end(await answer.text());
  });
  const inference = open(url, 5_000);
  const renderer = serverRenderer(inference);
  const prompt = await renderer.render([{ role: "user", content: "hi" }], { addGenerationPrompt: true });
  expect(await renderer.decode(prompt)).toBe("<|user|>hi<|end|><|assistant|>");
  expect(await renderer.encode("hi")).toEqual(prompt.slice(1, 3));
  const [completion] = await inference.complete({ ...ASK, prompt });
  expect(fake.sampled).toMatchObject([{ prompt, tokens: completion?.tokens, logprobs: completion?.logprobs }]);
  expect(await inference.health()).toBe(true);
});
