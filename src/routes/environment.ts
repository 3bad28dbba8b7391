import { Hono } from "hono";
import { DEFAULT_LEASING } from "../../durable-objects/run/leasing.ts";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { labelOf, runStub } from "../runs.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { jsonBody, optionalJsonBody, validate } from "../wire/json-body.ts";
import { answers, environmentId, registerEnvironmentBody } from "../wire/messages.ts";

/** What an environment calls beside its groups. */
export const environmentRoutes = new Hono<AppEnv>({ strict: false });

/** The name of an environment that sends null, as the stock base class does when its name is unset. */
const UNNAMED = "env";

environmentRoutes.post(
  "/register-env",
  describe({
    summary: "Register an environment",
    description: "Answers `wait for trainer to start` until a trainer has registered; ask again then.",
    tag: "environment",
    action: "submit",
    body: registerEnvironmentBody,
    answer: answers.registerEnvironment,
    refusals: { 503: "the run has had as many environments as it may" },
  }),
  access("submit"),
  async (c) => {
    const body = await jsonBody(c.req.raw, registerEnvironmentBody);
    const answer = await runStub(c).registerEnvironment({
      name: body.desired_name ?? UNNAMED,
      label: labelOf(c),
      maxTokenLength: body.max_token_length,
      groupSize: body.group_size,
      weight: body.weight,
      floor: body.min_batch_allocation ?? null,
      key: body.key ?? null,
      leasing: {
        leaseSequences: body.lease_sequences ?? body.group_size,
        leaseSeconds: body.lease_seconds ?? DEFAULT_LEASING.leaseSeconds,
        stepsPerEval: body.steps_per_eval ?? DEFAULT_LEASING.stepsPerEval,
        evaluationHandling: body.evaluation_handling ?? DEFAULT_LEASING.evaluationHandling,
        evaluationLimit: body.evaluation_limit ?? DEFAULT_LEASING.evaluationLimit,
      },
    });
    switch (answer.status) {
      case "no_trainer":
        return c.json({ status: "wait for trainer to start" });
      case "too_many":
        throw new ApiError(503, `the run has had ${answer.limit} environments, its limit: start another run`, {
          "retry-after": "60",
        });
      case "registered":
        return c.json({
          status: "success",
          env_id: answer.id,
          wandb_name: answer.wandbName,
          checkpoint_dir: answer.registration.checkpoint_dir,
          starting_step: answer.step,
          checkpoint_interval: answer.registration.save_checkpoint_interval,
          num_steps: answer.registration.num_steps,
        });
    }
  },
);

environmentRoutes.post(
  "/disconnect-env",
  describe({
    summary: "Disconnect an environment",
    description: "Its floor ends and what it has buffered is queued. Groups it sent stay.",
    tag: "environment",
    action: "submit",
    body: environmentId,
    answer: answers.disconnect,
  }),
  access("submit"),
  async (c) => {
    const { env_id } = await jsonBody(c.req.raw, environmentId);
    const known = await runStub(c).disconnectEnvironment(env_id);
    // The stock server's words: clients may look for them.
    return c.json(known ? { status: "success" } : { status: "failure", error: "list index out of range" });
  },
);

environmentRoutes.get(
  "/status-env",
  describe({
    summary: "How much is queued, for one environment",
    description:
      "Which environment: `env_id` in a JSON body (as Atropos sends it) or in the query; below a label, else, the one that registered there last; else the only connected one.",
    tag: "environment",
    action: "submit",
    query: environmentId.partial(),
    answer: answers.environmentStatus,
    refusals: { 404: "no environment has that id, or registered below that label" },
  }),
  access("submit"),
  async (c) => {
    const asked = c.req.query("env_id");
    const query = asked === undefined ? null : validate({ env_id: asked }, environmentId, "query");
    const id = (query ?? (await optionalJsonBody(c.req.raw, environmentId)))?.env_id ?? null;
    const answer = await runStub(c).environmentStatus({ id, label: labelOf(c) });
    switch (answer.status) {
      case "found":
        return c.json(answer.environment);
      case "unknown":
        throw new ApiError(
          404,
          `no environment has env_id ${answer.id}: ${answer.registered} registered since the run began or was reset`,
        );
      case "unknown_label":
        throw new ApiError(404, `no environment has registered below the label ${answer.label}`);
      case "ambiguous": {
        const msg =
          `Which environment is meant? ${answer.connected} are connected and the request names none: send env_id as a query, ` +
          "or give the environment a server URL that ends in /as/LABEL";
        throw unprocessable([{ type: "missing", loc: ["body"], msg, input: null }]);
      }
    }
  },
);
