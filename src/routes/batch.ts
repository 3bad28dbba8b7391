import { type Context, Hono } from "hono";
import { retry } from "../../durable-objects/retry.ts";
import type { BatchChange } from "../../durable-objects/run/answers.ts";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { payloadText, textLength } from "../delivery/payload-text.ts";
import { showPayloads } from "../delivery/show.ts";
import { streamJson } from "../delivery/stream.ts";
import { describe } from "../docs/describe.ts";
import { runOf, runStub } from "../runs.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { ackBody, batchChange, batchId, releaseBody } from "../wire/batches.ts";
import { optionalJsonBody, validate } from "../wire/json-body.ts";
import { answers, batchQuery, group } from "../wire/messages.ts";

/** How trainers get their batches. */
export const batchRoutes = new Hono<AppEnv>({ strict: false });

batchRoutes.get(
  "/batch",
  describe({
    summary: "Take a batch",
    description:
      "`batch` is null while none can be formed. The headers `Lachesis-Batch` and `Lachesis-Step` name it: a batch whose last byte did not leave is served again under the same id.",
    tag: "trainer",
    action: "train",
    query: batchQuery,
    answer: answers.batch,
  }),
  access("train"),
  async (c) => {
    const { wait, lease, trainer, ...rest } = validate(c.req.query(), batchQuery, "query");
    const slice = sliceOf(rest.rank, rest.world_size, lease);
    const request = { leaseMs: Math.round((lease ?? 0) * 1000), trainer: trainer ?? null, slice };
    const taken = await runStub(c).takeBatch((wait ?? 0) * 1000, request);
    switch (taken.status) {
      case "unregistered":
        // A status of 200 and a list: the stock server's words, which clients look for.
        return c.json({ status: "error", message: "Trainer not registered. Call /register first.", batch: [] });
      case "none":
        return c.json({ batch: null });
      case "batch":
        return deliver(c, taken, slice);
    }
  },
);

batchRoutes.get(
  "/latest_example",
  describe({
    summary: "The group queued last",
    description: "Lists are empty while there is none.",
    tag: "run",
    action: "read",
    answer: group.partial(),
  }),
  access("read"),
  async (c) => {
    const latest = await runStub(c).latest();
    if (latest === null) return c.json(NO_EXAMPLE);
    return showPayloads(c, [latest]);
  },
);

/** What the stock server answers before it has seen a group. */
const NO_EXAMPLE = {
  tokens: [],
  masks: [],
  scores: [],
  advantages: [],
  ref_logprobs: [],
  generation_params: [],
  inference_logprobs: [],
  messages: [],
  images: [],
};

/** What names a batch to its trainer. */
function headersOf({ id, step }: Pick<Taken["batch"], "id" | "step">): Record<string, string> {
  return { "lachesis-batch": `${id}`, "lachesis-step": `${step}` };
}

interface Slice {
  readonly rank: number;
  readonly worldSize: number;
}

/** @throws ApiError 422 when rank and world_size don't fit each other, or come without a lease. */
function sliceOf(rank: number | undefined, worldSize: number | undefined, lease: number | undefined): Slice | null {
  if (rank === undefined && worldSize === undefined) return null;
  const fault = (field: string, msg: string, input?: number) =>
    unprocessable([{ type: "value_error", loc: ["query", field], msg, ...(input === undefined ? {} : { input }) }]);
  if (rank === undefined) throw fault("rank", "world_size needs a rank too, from 0 to world_size - 1");
  if (worldSize === undefined) throw fault("world_size", "rank needs world_size too: how many slices there are");
  if (rank >= worldSize)
    throw fault("rank", `rank ${rank} is none of world_size ${worldSize}: they count from 0`, rank);
  if (lease === undefined) throw fault("lease", "slices are handed out under a lease: say for how many seconds");
  return { rank, worldSize };
}

const CHANGE_REFUSALS = {
  404: "no batch has that id",
  409: "it isn't this trainer's: another one holds it, or it was handed out or opened again since",
};

/** What a batch with a lease says of itself; a plain one has no room for it, as clients know its shape. */
function leaseFields({ id, step, leaseUntil, epoch }: Taken["batch"], slice: Slice | null): string {
  const part = slice === null ? "" : `,"rank":${slice.rank},"world_size":${slice.worldSize}`;
  return `"batch_id":${id},"step":${step},"lease_expires_at":${leaseUntil},"hold":${epoch}${part}`;
}

batchRoutes.post(
  "/batches/:batch_id/ack",
  describe({
    summary: "Acknowledge a leased batch",
    description: "The trainer has learned from it: it is never served again. Twice is the same as once.",
    tag: "trainer",
    action: "train",
    path: batchId,
    body: ackBody,
    isBodyOptional: true,
    answer: batchChange,
    refusals: CHANGE_REFUSALS,
  }),
  access("train"),
  async (c) => {
    const { batch_id } = validate(c.req.param(), batchId, "path");
    const ack = (await optionalJsonBody(c.req.raw, ackBody)) ?? ackBody.parse({});
    const change = await runStub(c).acknowledge(batch_id, ack);
    return c.json({ status: "acknowledged", batch_id, repeated: changeOf(change, batch_id) });
  },
);

batchRoutes.post(
  "/batches/:batch_id/release",
  describe({
    summary: "Give a leased batch back",
    description: "It is served again, under the same id, before any new one.",
    tag: "trainer",
    action: "train",
    path: batchId,
    body: releaseBody,
    isBodyOptional: true,
    answer: batchChange,
    refusals: CHANGE_REFUSALS,
  }),
  access("train"),
  async (c) => {
    const { batch_id } = validate(c.req.param(), batchId, "path");
    const holder = (await optionalJsonBody(c.req.raw, releaseBody)) ?? releaseBody.parse({});
    const change = await runStub(c).release(batch_id, holder);
    return c.json({ status: "released", batch_id, repeated: changeOf(change, batch_id) });
  },
);

batchRoutes.get(
  "/batches/:batch_id",
  describe({
    summary: "A batch again",
    description: "While it is kept. Changes nothing.",
    tag: "trainer",
    action: "train",
    path: batchId,
    answer: answers.keptBatch,
    refusals: { 404: "no such batch is kept" },
  }),
  access("train"),
  async (c) => {
    const { batch_id } = validate(c.req.param(), batchId, "path");
    const batch = await runStub(c).keptBatch(batch_id);
    if (batch === null) {
      throw new ApiError(
        404,
        `batch ${batch_id} is not kept: it never was, or is older than keep_steps and keep_bytes allow`,
      );
    }
    const tail = `],"batch_id":${batch.id},"step":${batch.step}}`;
    return showPayloads(c, batch.groups, { head: '{"batch":[', tail, headers: headersOf(batch) });
  },
);

/** @throws ApiError 404 for an id no batch has, 409 when it isn't this trainer's to end. */
function changeOf(change: BatchChange, id: number): boolean {
  switch (change.status) {
    case "changed":
      return change.repeated;
    case "held": {
      const { holder } = change;
      const by = holder === null ? "has been handed out again since" : `is held by the trainer ${holder} now`;
      throw new ApiError(409, `batch ${id} ${by}; whoever holds it says so with trainer or hold`);
    }
    case "rewound":
      throw new ApiError(409, `batch ${id} was opened again by a trainer that went back: take it again first`);
    case "unknown": {
      const known = change.last === 0 ? "none has been handed out" : `the last one is ${change.last}`;
      throw new ApiError(404, `no batch has the id ${id}: ${known}`);
    }
  }
}

type Taken = Extract<Awaited<ReturnType<ReturnType<typeof runStub>["takeBatch"]>>, { status: "batch" }>;

/** Streams a batch, and reports it delivered when the last byte has left. Until then the Run may serve it again. */
async function deliver(c: Context<AppEnv>, { batch, delivery }: Taken, slice: Slice | null): Promise<Response> {
  const run = runOf(c);
  try {
    if (!(await delivery.claim())) {
      delivery[Symbol.dispose]();
      return c.json({ batch: null });
    }
    const { response, sent } = await streamJson(c.req.raw, {
      head: '{"batch":[',
      tail: batch.leaseUntil === 0 ? "]}" : `],${leaseFields(batch, slice)}}`,
      pieces: payloadText(c.env, run, batch.groups),
      length: textLength(batch.groups),
      headers: { ...headersOf(batch), ...(batch.leaseUntil === 0 ? {} : { "lachesis-hold": `${batch.epoch}` }) },
    });
    const settled = sent
      .then(() => retry(() => c.env.RUN.getByName(run).delivered(batch.id, batch.epoch, slice?.rank ?? null)))
      .catch((error: unknown) =>
        console.warn({ message: "batch not delivered", run, batch: batch.id, error: String(error) }),
      )
      .finally(() => delivery[Symbol.dispose]());
    c.executionCtx.waitUntil(settled);
    return response;
  } catch (error) {
    delivery[Symbol.dispose]();
    throw error;
  }
}
