import { Hono } from "hono";
import type { LeaseChange } from "../../durable-objects/run/rollouts/answers.ts";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { runStub } from "../runs.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { jsonBody, validate } from "../wire/json-body.ts";
import {
  BACKLOG_BODY_BYTES,
  backlogAnswer,
  backlogBody,
  closeAnswer,
  closeBody,
  leaseId,
  leaseList,
  leaseListQuery,
  leasesAnswer,
  leasesBody,
  MAX_BACKLOG_ITEM,
  MAX_FAILURE_MESSAGE,
  renewAnswer,
  renewBody,
} from "../wire/rollouts.ts";

/** Rollout leases: permission to generate one group each. */
export const rolloutRoutes = new Hono<AppEnv>({ strict: false });

const UNKNOWN_LEASE = "the lease was never given out, or ended more than a day ago";

rolloutRoutes.post(
  "/leases",
  describe({
    summary: "Ask for rollout leases",
    description:
      "Each names an item, a seed, a policy version, an inference endpoint and an expiry. With `wait` the request is held until there is one. Hand the group in with the header `Lachesis-Lease`, or close the lease.",
    tag: "environment",
    action: "submit",
    body: leasesBody,
    answer: leasesAnswer,
    refusals: { 404: "no environment has that id" },
  }),
  access("submit"),
  async (c) => {
    const { env_id, key, count, wait } = await jsonBody(c.req.raw, leasesBody);
    const answer = await runStub(c).leaseRollouts(env_id, count, wait * 1000, key);
    if (answer.status === "unknown_environment") {
      const known = `${answer.registered} registered since the run began or was reset`;
      throw new ApiError(404, `no environment has env_id ${env_id}: ${known}; register again`);
    }
    if (answer.status === "another_environment") {
      const msg = `env_id ${env_id} is not the environment of the key ${JSON.stringify(key)}, but ${answer.name}: the run was reset since; register again`;
      throw new ApiError(404, msg);
    }
    return c.json({ ...answer, leases: answer.leases.map((lease) => ({ ...lease, backlog: parsed(lease.backlog) })) });
  },
);

rolloutRoutes.get(
  "/leases",
  describe({
    summary: "The record of rollout leases",
    description: "Open ones, and those that ended within a day, in the order in which they were given out.",
    tag: "run",
    action: "read",
    query: leaseListQuery,
    answer: leaseList,
  }),
  access("read"),
  async (c) => {
    const { env_id, after, limit } = validate(c.req.query(), leaseListQuery, "query");
    return c.json({
      leases: await runStub(c).listRollouts(env_id ?? null, after, limit),
    });
  },
);

rolloutRoutes.post(
  "/leases/:lease_id/renew",
  describe({
    summary: "Extend a rollout lease for another attempt",
    description:
      "A failure is counted; another endpoint is named if this one is to blame. 503 if it is gone and no other has room: the lease goes on.",
    tag: "environment",
    action: "submit",
    path: leaseId,
    body: renewBody,
    answer: renewAnswer,
    refusals: { 404: UNKNOWN_LEASE, 503: "its endpoint is gone and no other has room" },
  }),
  access("submit"),
  async (c) => {
    const { lease_id } = validate(c.req.param(), leaseId, "path");
    const { failure } = await jsonBody(c.req.raw, renewBody);
    const change = await runStub(c).renewRollout(
      lease_id,
      failure === null
        ? null
        : { reason: failure.reason, message: short(failure.message), endpointFault: failure.endpoint_fault },
    );
    if (change.status === "leased")
      return c.json({ status: "leased", lease: { ...change.lease, backlog: parsed(change.lease.backlog) } });
    if (change.status === "no_endpoint") {
      const msg = `rollout lease ${lease_id} goes on, but its inference endpoint is gone and no other has room: renew it again later, or publish endpoints with POST /policy`;
      throw new ApiError(503, msg, { "retry-after": "5" });
    }
    return c.json(closedOnly(change, lease_id));
  },
);

rolloutRoutes.post(
  "/leases/:lease_id/close",
  describe({
    summary: "End a rollout lease without a group",
    description: "Skipped, failed (both with a reason, which is counted), or evaluated. The first ending counts.",
    tag: "environment",
    action: "submit",
    path: leaseId,
    body: closeBody,
    answer: closeAnswer,
    refusals: { 404: UNKNOWN_LEASE },
  }),
  access("submit"),
  async (c) => {
    const { lease_id } = validate(c.req.param(), leaseId, "path");
    const { outcome, reason, message, endpoint_fault, metrics } = await jsonBody(c.req.raw, closeBody);
    if (outcome === "evaluated") {
      const change = await runStub(c).closeRollout(lease_id, { outcome, metrics });
      if (change.status === "no_evaluation") {
        const msg = `rollout lease ${lease_id} is for a group, not for an evaluation: submit the group, or close the lease as skipped or failed`;
        throw unprocessable([{ type: "value_error", loc: ["body", "outcome"], msg, input: outcome }]);
      }
      return c.json(closedOnly(change, lease_id));
    }
    if (reason === null) {
      const msg = `a lease that is ${outcome} needs a reason, one word in snake_case: it is counted`;
      throw unprocessable([{ type: "missing", loc: ["body", "reason"], msg, input: null }]);
    }
    const ending = { outcome, reason, message: short(message), endpointFault: endpoint_fault };
    return c.json(closedOnly(await runStub(c).closeRollout(lease_id, ending), lease_id));
  },
);

rolloutRoutes.post(
  "/leases/:lease_id/backlog",
  describe({
    summary: "Hand in follow-up items",
    description: "They are drawn before new items once the lease ends with a group or skipped.",
    tag: "environment",
    action: "submit",
    path: leaseId,
    body: backlogBody,
    answer: backlogAnswer,
    refusals: { 404: UNKNOWN_LEASE, 409: "the lease has ended, or too many items wait" },
  }),
  access("submit"),
  async (c) => {
    const { lease_id } = validate(c.req.param(), leaseId, "path");
    const { items } = await jsonBody(c.req.raw, backlogBody, BACKLOG_BODY_BYTES);
    const texts = items.map((item, index) => {
      const text = JSON.stringify(item ?? null);
      if (text.length <= MAX_BACKLOG_ITEM) return text;
      const msg = `a follow-up item has at most ${MAX_BACKLOG_ITEM} characters of JSON, this one ${text.length}: keep what it refers to elsewhere`;
      throw unprocessable([{ type: "string_too_long", loc: ["body", "items", index], msg }]);
    });
    const change = await runStub(c).followUpRollout(lease_id, texts);
    if (change.status === "too_many")
      throw new ApiError(
        409,
        `the environment has ${change.limit} follow-up items waiting, its limit: draw them first`,
      );
    if (change.status === "noted") return c.json({ status: "noted", items: items.length });
    const { outcome } = closedOnly(change, lease_id);
    throw new ApiError(409, `rollout lease ${lease_id} has ended: ${outcome}; its follow-up items are not taken`);
  },
);

/** @throws ApiError 404 for a lease nobody was given. */
function closedOnly(change: LeaseChange, id: number) {
  if (change.status === "closed") return change;
  throw new ApiError(404, `no rollout lease ${id} is known: it was never given out, or ended more than a day ago`);
}

function parsed(backlog: string | null): unknown {
  return backlog === null ? null : JSON.parse(backlog);
}

function short(message: string): string {
  return message.slice(0, MAX_FAILURE_MESSAGE);
}
