import { type Context, Hono } from "hono";
import { shardName } from "../../durable-objects/names.ts";
import type { Verdict } from "../../durable-objects/payloads.ts";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { requestOrigin } from "../ingest/request-origin.ts";
import { askRun, settingsOfRun } from "../ingest/run-settings.ts";
import { chooseShard } from "../ingest/shard-choice.ts";
import { diskFull, submitBody } from "../ingest/submission.ts";
import { runOf } from "../runs.ts";
import { settingsOf } from "../settings.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { answers, scoredData } from "../wire/messages.ts";
import { IDEMPOTENCY_HEADER, submissionHeaders } from "../wire/rollouts.ts";

/** How environments hand in their groups. */
export const scoredDataRoutes = new Hono<AppEnv>({ strict: false });

const SUBMISSION_REFUSALS = { 409: "the rollout lease has ended", 503: "the queue or the disk is full" };

/** The answer to nearly every request there is. */
const RECEIVED = '{"status":"received"}';
const JSON_ANSWER = { headers: { "content-type": "application/json" } };

scoredDataRoutes.post(
  "/scored_data",
  describe({
    summary: "Hand in a group",
    description:
      "Answers once the group is durable. A group smaller than its environment's group size is buffered until such groups add up to it. With `Lachesis-Lease` it ends that rollout lease. With that or an `Idempotency-Key` the same again changes nothing.",
    tag: "environment",
    action: "submit",
    headers: submissionHeaders,
    body: scoredData,
    answer: answers.scoredData,
    refusals: SUBMISSION_REFUSALS,
  }),
  access("submit"),
  async (c) => {
    const [verdict] = await submit(c, "group");
    if (verdict?.status === "buffered") return c.json({ status: "buffered", buffer_size: verdict.bufferedSequences });
    if (verdict?.status === "filtered") return c.json({ status: "received", filtered: verdict.reason });
    if (verdict !== undefined && "repeated" in verdict) return c.body(RECEIVED, 200, JSON_ANSWER.headers);
    return new Response(RECEIVED, JSON_ANSWER);
  },
);

scoredDataRoutes.post(
  "/scored_data_list",
  describe({
    summary: "Hand in several groups",
    description: "All of them are queued, or none.",
    tag: "environment",
    action: "submit",
    headers: submissionHeaders,
    body: scoredData.array(),
    answer: answers.scoredDataList,
    refusals: SUBMISSION_REFUSALS,
  }),
  access("submit"),
  async (c) => {
    const verdicts = await submit(c, "list");
    const buffered = verdicts.filter((verdict) => verdict.status === "buffered");
    const last = buffered.at(-1);
    const filtered = verdicts.filter((verdict) => verdict.status === "filtered").length;
    return c.json({
      status: "received",
      groups_processed: verdicts.length,
      ...(filtered === 0 ? {} : { filtered }),
      ...(last === undefined ? {} : { buffered: buffered.length, last_buffer_size: last.bufferedSequences }),
    });
  },
);

async function submit(c: Context<AppEnv>, mode: "group" | "list"): Promise<readonly Verdict[]> {
  const run = runOf(c);
  const { shards, deduplicate } = await settingsOfRun(c, run);
  const stub = c.env.PAYLOAD_SHARD.getByName(shardName(run, chooseShard(shards, Date.now())));
  const origin = requestOrigin(c.req.raw.headers);
  const verdicts = await submitBody(c.req.raw, mode, {
    bodyLimit: settingsOf(c.env).bodyLimit,
    shard: stub,
    origin,
    deduplicate,
    askWhetherDeduplicate: async () => (await askRun(c, run)).deduplicate,
  });
  refuseFull(verdicts);
  refuseOversized(verdicts, mode);
  refuseLease(verdicts);
  refuseReused(verdicts);
  assertTaken(verdicts);
  const [first] = verdicts;
  if (first !== undefined && "repeated" in first) c.header("Lachesis-Repeated", "true");
  return verdicts;
}

/** Nothing is called received that isn't. @throws for a verdict that has no answer of its own above. */
function assertTaken(verdicts: readonly Verdict[]): void {
  const other = verdicts.find(({ status }) => !["received", "buffered", "filtered"].includes(status));
  if (other !== undefined) throw new Error(`a submission was not taken: ${other.status}`);
}

/** @throws ApiError 503 when the run, or the disk, holds as much as it may. */
function refuseFull(verdicts: readonly Verdict[]): void {
  const [verdict] = verdicts;
  if (verdict?.status === "disk_full") throw diskFull();
  if (verdict?.status !== "queue_full") return;
  const detail = `the queue is full: ${verdict.message}; try again when trainers have taken batches`;
  throw new ApiError(503, detail, { "retry-after": "5" });
}

/** @throws ApiError 422 when another request had this key. */
function refuseReused(verdicts: readonly Verdict[]): void {
  const [verdict] = verdicts;
  if (verdict?.status !== "key_reused") return;
  const msg = `Value error, this key came before with another request, of ${verdict.groups} groups and not ${verdicts.length}: every request needs a key of its own`;
  throw unprocessable([{ type: "value_error", loc: ["header", IDEMPOTENCY_HEADER], msg }]);
}

/** @throws ApiError 409 when the lease is over, 422 when the groups are more than it allows. */
function refuseLease(verdicts: readonly Verdict[]): void {
  const [verdict] = verdicts;
  if (verdict?.status === "lease_is_over") {
    const { lease, outcome } = verdict;
    const why = outcome === "unknown" ? "was never given out, or ended long ago" : `has ended: ${outcome}`;
    throw new ApiError(409, `rollout lease ${lease} ${why}; its groups are not taken`);
  }
  if (verdict?.status === "larger_than_lease") {
    const { lease, sequences, allowed } = verdict;
    const msg = `Value error, rollout lease ${lease} may bring ${allowed} sequences, not ${sequences}: register the environment with a larger lease_sequences`;
    throw unprocessable([{ type: "value_error", loc: ["body"], msg, ctx: { sequences, allowed } }]);
  }
}

/** @throws ApiError 422 that names each group which no batch can ever hold. */
function refuseOversized(verdicts: readonly Verdict[], mode: "group" | "list"): void {
  const errors = verdicts.flatMap((verdict, index) => {
    if (verdict.status !== "larger_than_batch") return [];
    const { sequences, batchSize } = verdict;
    const msg = `Value error, a group of ${sequences} sequences can never fit a batch of ${batchSize}: make smaller groups, or register the trainer with a larger batch_size`;
    const loc = mode === "list" ? ["body", index, "tokens"] : ["body", "tokens"];
    return [{ type: "value_error", loc, msg, ctx: { sequences, batch_size: batchSize } }];
  });
  if (errors.length > 0) throw unprocessable(errors);
}
