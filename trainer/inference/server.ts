import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { z } from "zod";
import { type Policy, Random } from "../policy/index.ts";
import { chatCompletions } from "./chat-completions.ts";
import { completions } from "./completions.ts";
import type { Context } from "./context.ts";
import { ApiError, badRequest, toApiError } from "./errors.ts";
import { chatRequest, completionRequest, detokenizeRequest, tokenizeRequest } from "./schemas.ts";
import { detokenize, tokenize } from "./tokenize.ts";

/** Bytes of a request's body. */
const MAX_BODY = 8 * 2 ** 20;

export interface InferenceServerOptions {
  readonly policy: Policy;
  /** 0, the default, takes any free one. */
  readonly port?: number;
  readonly host?: string;
  /** What the server calls the policy; requests may name it or anything else. */
  readonly model?: string;
  /** For requests that bring none; the same seed and the same requests in the same order give the same completions. */
  readonly seed?: number;
}

export interface InferenceServer {
  /** Without a slash at its end. */
  readonly url: string;
  /** Ends open connections, running completions included. */
  close(): Promise<void>;
}

type Handler = (body: unknown, context: Context) => unknown;

/**
 * Serves a policy as vLLM serves a model. The policy may be trained, or its weights loaded, while completions run.
 * @throws when host or port can't be listened on
 */
export async function startInferenceServer(options: InferenceServerOptions): Promise<InferenceServer> {
  const { policy, port = 0, host = "127.0.0.1", model = "lachesis-tiny", seed = 0 } = options;
  const routes = routesOf(policy, model);
  const random = new Random(seed);
  let served = 0;
  const server = createServer((request, response) => {
    const gone = new AbortController();
    response.once("close", () => gone.abort());
    const context: Context = {
      id: String(++served),
      created: Math.floor(Date.now() / 1000),
      model,
      signal: gone.signal,
      seed: (asked) => asked ?? random.seed(),
    };
    void answer(routes, request, response, context);
  });
  server.listen(port, host);
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("the server has no port");
  const name = address.family === "IPv6" ? `[${address.address}]` : address.address;
  return {
    url: `http://${name}:${address.port}`,
    close: async () => {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

function routesOf(policy: Policy, model: string): ReadonlyMap<string, Handler> {
  const card = () => ({ id: model, object: "model", owned_by: "lachesis", max_model_len: policy.config.maxLength });
  return new Map<string, Handler>([
    ["GET /health", () => ({ status: "ok", policy_version: policy.version })],
    ["GET /version", () => ({ version: "lachesis" })],
    ["GET /v1/models", () => ({ object: "list", data: [card()] })],
    ["POST /tokenize", reading(tokenizeRequest, (body) => tokenize(policy, body))],
    ["POST /detokenize", reading(detokenizeRequest, detokenize)],
    ["POST /v1/completions", reading(completionRequest, (body, context) => completions(policy, body, context))],
    ["POST /v1/chat/completions", reading(chatRequest, (body, context) => chatCompletions(policy, body, context))],
  ]);
}

/** @throws ZodError when the body doesn't fit the schema */
function reading<T>(schema: z.ZodType<T>, handle: (body: T, context: Context) => unknown): Handler {
  return (body, context) => handle(schema.parse(body), context);
}

async function answer(
  routes: ReadonlyMap<string, Handler>,
  request: IncomingMessage,
  response: ServerResponse,
  context: Context,
): Promise<void> {
  try {
    const path = (request.url ?? "/").split("?")[0] ?? "/";
    const handler = routes.get(`${request.method} ${path}`);
    if (handler === undefined) throw new ApiError(404, "NotFoundError", `there is no ${request.method} ${path} here`);
    const body = request.method === "POST" ? await readJson(request) : undefined;
    send(response, 200, await handler(body, context));
  } catch (error) {
    if (context.signal.aborted) return;
    const failure = toApiError(error);
    send(response, failure.status, failure.body());
  }
}

async function readJson(request: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request) {
    if (!Buffer.isBuffer(chunk)) throw new Error("the body came as text");
    bytes += chunk.length;
    if (bytes > MAX_BODY) throw new ApiError(413, "BadRequestError", `the body is larger than ${MAX_BODY} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString());
  } catch {
    throw badRequest("the body is not JSON");
  }
}

function send(response: ServerResponse, status: number, body: unknown): void {
  const text = JSON.stringify(body);
  response.writeHead(status, { "content-type": "application/json", "content-length": Buffer.byteLength(text) });
  response.end(text);
}
