import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { access, authorizeFor } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { copyGroups } from "../ingest/fork.ts";
import { runOf, runStub } from "../runs.ts";
import { ApiError } from "../wire/api-error.ts";
import { forkAnswer, forkBody } from "../wire/batches.ts";
import { jsonBody } from "../wire/json-body.ts";

/** Beginning a run where another one stood. */
export const forkRoutes = new Hono<AppEnv>({ strict: false });

forkRoutes.post(
  "/fork",
  describe({
    summary: "Begin this run where another one stood at a step",
    description:
      "It gets that run's settings, its step, and the groups it had before it: those of the batches after the step, then its queue. The token must be good for both runs. A call that broke off may be made again.",
    tag: "trainer",
    action: "train",
    body: forkBody,
    answer: forkAnswer,
  }),
  access("train"),
  async (c) => {
    const { from, step } = await jsonBody(c.req.raw, forkBody);
    await authorizeFor(c, "read", from);
    const run = runOf(c);
    if (from === run)
      throw new ApiError(409, `the run ${run} can't be forked into itself: name another run in the path`);
    if ((await runStub(c).registration()) !== null)
      throw new ApiError(409, `the run ${run} has a trainer already: fork into a new run, or reset this one first`);
    const source = c.env.RUN.getByName(from);
    let groups = 0;
    for (;;) {
      const page = await source.forkPage(step, groups);
      if (page.status === "no_trainer")
        throw new ApiError(404, `the run ${from} has no trainer, so there is nothing to fork`);
      if (page.status === "not_kept") {
        const kept =
          page.keptFrom > page.step ? `only step ${page.step}` : `steps ${page.keptFrom - 1} to ${page.step}`;
        throw new ApiError(
          409,
          `the run ${from} can't be forked at step ${step}: ${kept} can be (keep_steps and keep_bytes)`,
        );
      }
      await copyGroups(c.env, from, run, page.registration.payload_shards, page.groups);
      groups += page.groups.length;
      if (page.more) continue;
      await runStub(c).register(page.registration);
      return c.json({ status: "forked" as const, from, step: page.registration.starting_step, groups });
    }
  },
);
