import { type Context, Hono } from "hono";
import { shardName } from "../../durable-objects/names.ts";
import type { Verdict } from "../../durable-objects/payloads.ts";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { shardsOfRun } from "../ingest/run-shards.ts";
import { chooseShard } from "../ingest/shard-choice.ts";
import { submitBody } from "../ingest/submission.ts";
import { runOf } from "../runs.ts";
import { settingsOf } from "../settings.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { validate } from "../wire/json-body.ts";
import { answers, scoredData } from "../wire/messages.ts";
import { LEASE_HEADER, leaseHeader } from "../wire/rollouts.ts";

/** How environments hand in their groups. */
export const scoredDataRoutes = new Hono<AppEnv>({ strict: false });

/** The answer to nearly every request there is. */
const RECEIVED = '{"status":"received"}';
const JSON_ANSWER = { headers: { "content-type": "application/json" } };

scoredDataRoutes.post(
  "/scored_data",
  describe({
    summary: "Hand in a group",
    description:
      "Answers once the group is durable. A group smaller than its environment's group size is buffered until such groups add up to it. With `Lachesis-Lease` it ends that rollout lease, and the same again changes nothing.",
    tag: "environment",
    action: "submit",
    body: scoredData,
    answer: answers.scoredData,
  }),
  access("submit"),
  async (c) => {
    const [verdict] = await submit(c, "group");
    if (verdict?.status === "buffered") return c.json({ status: "buffered", buffer_size: verdict.bufferedSequences });
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
    body: scoredData.array(),
    answer: answers.scoredDataList,
  }),
  access("submit"),
  async (c) => {
    const verdicts = await submit(c, "list");
    const buffered = verdicts.filter((verdict) => verdict.status === "buffered");
    const last = buffered.at(-1);
    return c.json({
      status: "received",
      groups_processed: verdicts.length,
      ...(last === undefined ? {} : { buffered: buffered.length, last_buffer_size: last.bufferedSequences }),
    });
  },
);

async function submit(c: Context<AppEnv>, mode: "group" | "list"): Promise<readonly Verdict[]> {
  const run = runOf(c);
  const shard = chooseShard(shardsOfRun(c, run), Date.now());
  const stub = c.env.PAYLOAD_SHARD.getByName(shardName(run, shard));
  const verdicts = await submitBody(c.req.raw, mode, settingsOf(c.env).bodyLimit, stub, leaseOf(c));
  refuseOversized(verdicts, mode);
  refuseLease(verdicts);
  return verdicts;
}

/** The rollout lease that a submission names, or null. */
function leaseOf(c: Context<AppEnv>): number | null {
  const lease = c.req.header(LEASE_HEADER);
  return lease === undefined ? null : validate({ [LEASE_HEADER]: lease }, leaseHeader, "header")[LEASE_HEADER];
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
