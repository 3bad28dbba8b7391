import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { showPayloads } from "../delivery/show.ts";
import { describe } from "../docs/describe.ts";
import { runStub } from "../runs.ts";
import { ApiError } from "../wire/api-error.ts";
import { droppedId, droppedList, droppedQuery } from "../wire/batches.ts";
import { validate } from "../wire/json-body.ts";
import { group } from "../wire/messages.ts";

/** Groups that came into no batch, for an hour. */
export const droppedRoutes = new Hono<AppEnv>({ strict: false });

droppedRoutes.get(
  "/dropped",
  describe({
    summary: "Groups that came into no batch, and why",
    description:
      "Stale ones and those that the run's filters dropped: the last 1,000 of the last hour, 64 MiB at most, newest first.",
    tag: "run",
    action: "read",
    query: droppedQuery,
    answer: droppedList,
  }),
  access("read"),
  async (c) => {
    const { limit } = validate(c.req.query(), droppedQuery, "query");
    const dropped = await runStub(c).listDropped(limit);
    return c.json({
      dropped: dropped.map(({ age, environment, reason, sequences, policyVersion, bytes, at }) => {
        return { group: age, env_id: environment, reason, sequences, policy_version: policyVersion, bytes, at };
      }),
    });
  },
);

droppedRoutes.get(
  "/dropped/:group",
  describe({
    summary: "One of them, whole",
    tag: "run",
    action: "read",
    path: droppedId,
    answer: group.partial(),
    refusals: { 404: "no such group is kept" },
  }),
  access("read"),
  async (c) => {
    const { group: age } = validate(c.req.param(), droppedId, "path");
    const dropped = await runStub(c).droppedGroup(age);
    if (dropped === null) throw new ApiError(404, `no dropped group ${age} is kept: see GET /dropped`);
    return showPayloads(c, [dropped]);
  },
);
