import { type Context, Hono } from "hono";
import type { Fork } from "../../durable-objects/run/fork-progress.ts";
import type { AppEnv } from "../app-env.ts";
import { access, authorizeFor } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { continueFork } from "../ingest/fork.ts";
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
      "It gets that run's settings, its step, and the groups it had before it: those of the batches after the step, then its queue. One call copies about 128 MiB at most: as long as the answer is `forking`, and after a failure, call again, which goes on. The run begins with `forked`. The token must be good for both runs.",
    tag: "trainer",
    action: "train",
    body: forkBody,
    answer: forkAnswer,
    refusals: {
      404: "the other run has no trainer",
      409: "this run has a trainer, or was begun as another fork; or the other run can't be forked at that step",
      503: "the disk is full",
    },
  }),
  access("train"),
  async (c) => {
    const { from, step } = await jsonBody(c.req.raw, forkBody);
    await authorizeFor(c, "read", from);
    const run = runOf(c);
    if (from === run)
      throw new ApiError(409, `the run ${run} can't be forked into itself: name another run in the path`);
    const begun = (await runStub(c).fork()) ?? (await begin(c, from, step));
    if (begun.source !== from || begun.askedStep !== step) throw isAnother(run, begun);
    const fork = await continueFork(c.env, run, begun);
    return c.json({
      status: fork.complete ? ("forked" as const) : ("forking" as const),
      from,
      step: fork.origin.registration.starting_step,
      groups: fork.groups,
      remaining: fork.complete ? 0 : Math.max(0, fork.origin.groups - fork.groups),
    });
  },
);

/** @throws ApiError 404 and 409 when the run can't begin, or the other can't be forked there. */
async function begin(c: Context<AppEnv>, from: string, step: number | null): Promise<Fork> {
  const run = runStub(c);
  if ((await run.registration()) !== null) throw hasTrainer(runOf(c));
  const found = await c.env.RUN.getByName(from).forkOrigin(step);
  if (found.status === "no_trainer")
    throw new ApiError(404, `the run ${from} has no trainer, so there is nothing to fork`);
  if (found.status === "not_kept") {
    const kept =
      found.keptFrom > found.step ? `only step ${found.step}` : `steps ${found.keptFrom - 1} to ${found.step}`;
    throw new ApiError(
      409,
      `the run ${from} can't be forked at step ${step}: ${kept} can be (keep_steps and keep_bytes)`,
    );
  }
  // A trainer may have registered meanwhile.
  const fork = await run.beginFork(from, step, found.origin);
  if (fork === null) throw hasTrainer(runOf(c));
  return fork;
}

function hasTrainer(run: string): ApiError {
  return new ApiError(409, `the run ${run} has a trainer already: fork into a new run, or reset this one first`);
}

function isAnother(run: string, { complete, source, askedStep }: Fork): ApiError {
  const what = `${source} with step ${JSON.stringify(askedStep)}`;
  const detail = complete
    ? `the run ${run} was forked from ${what} already: fork into a new run, or reset this one first`
    : `the run ${run} is being forked from ${what}: call again with that, or GET /reset_data first`;
  return new ApiError(409, detail);
}
