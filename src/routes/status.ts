import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { runStub } from "../runs.ts";
import { validate } from "../wire/json-body.ts";
import { answers, statusQuery } from "../wire/messages.ts";

/** What tells how a run is doing. */
export const statusRoutes = new Hono<AppEnv>({ strict: false });

statusRoutes.get(
  "/",
  describe({ summary: "Says that this is an Atropos API", tag: "run", action: "read", answer: answers.root }),
  access("read"),
  (c) => c.json({ message: "AtroposLib API" }),
);

statusRoutes.get(
  "/status",
  describe({
    summary: "Step and queue",
    description: "With `?explain` also why no batch is ready, in words and in fields, and counts of the run.",
    tag: "run",
    action: "read",
    query: statusQuery,
    answer: answers.status,
  }),
  access("read"),
  async (c) => {
    const { explain } = validate(c.req.query(), statusQuery, "query");
    if (explain === undefined || explain === "0" || explain === "false") {
      const { step, queueSize } = await runStub(c).status();
      return c.json({ current_step: step, queue_size: queueSize });
    }
    const run = await runStub(c).overview();
    return c.json({
      current_step: run.step,
      queue_size: run.queueSize,
      explain: run.explain,
      queued_bytes: run.queuedBytes,
      received_groups: run.receivedGroups,
      environments: run.environments,
      open_batches: run.openBatches,
      leased_batches: run.leasedBatches,
      waiting_trainers: run.waitingTrainers,
      trainer: run.trainer,
      policy_version: run.policyVersion,
      admission: run.admission,
      watchdog: run.watchdog,
    });
  },
);
