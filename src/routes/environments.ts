import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { runStub } from "../runs.ts";
import { ApiError, unprocessable } from "../wire/api-error.ts";
import { jsonBody, validate } from "../wire/json-body.ts";
import {
  environmentListQuery,
  environmentPath,
  environmentsAnswer,
  evaluationListQuery,
  evaluationsAnswer,
  MAX_STATE,
  STATE_BODY_BYTES,
  stateAnswer,
  stateBody,
} from "../wire/rollouts.ts";

/** How the environments do, and what they keep between groups. */
export const environmentsRoutes = new Hono<AppEnv>({ strict: false });

const UNKNOWN_ENVIRONMENT = "no environment has that id";

environmentsRoutes.get(
  "/environments",
  describe({
    summary: "How the environments do",
    description: "Alive or not, what they hold, and how their rollouts ended, by reason.",
    tag: "run",
    action: "read",
    query: environmentListQuery,
    answer: environmentsAnswer,
  }),
  access("read"),
  async (c) => {
    const { after, limit } = validate(c.req.query(), environmentListQuery, "query");
    return c.json({
      environments: await runStub(c).listEnvironments(after ?? -1, limit),
    });
  },
);

environmentsRoutes.get(
  "/environments/:env_id/state",
  describe({
    summary: "What an environment keeps",
    description: "Null for none: version 0 before it kept anything, a later one after a rewind to before that.",
    tag: "environment",
    action: "submit",
    path: environmentPath,
    answer: stateAnswer,
    refusals: { 404: UNKNOWN_ENVIRONMENT },
  }),
  access("submit"),
  async (c) => {
    const { env_id } = validate(c.req.param(), environmentPath, "path");
    const answer = await runStub(c).environmentState(env_id);
    if (answer.status === "unknown_environment") throw unknown(env_id);
    return c.json({ version: answer.version, state: answer.state === null ? null : JSON.parse(answer.state) });
  },
);

environmentsRoutes.put(
  "/environments/:env_id/state",
  describe({
    summary: "Replace what an environment keeps",
    description: "Only if it is still at `version`; else 409, and the environment reads it anew.",
    tag: "environment",
    action: "submit",
    path: environmentPath,
    body: stateBody,
    answer: stateAnswer,
    refusals: { 404: UNKNOWN_ENVIRONMENT, 409: "the state is at another version" },
  }),
  access("submit"),
  async (c) => {
    const { env_id } = validate(c.req.param(), environmentPath, "path");
    const { version, state } = await jsonBody(c.req.raw, stateBody, STATE_BODY_BYTES);
    const text = JSON.stringify(state ?? null);
    if (text.length > MAX_STATE) {
      const msg = `a state has at most ${MAX_STATE} characters of JSON, this one ${text.length}: keep what is large elsewhere`;
      throw unprocessable([{ type: "string_too_long", loc: ["body", "state"], msg }]);
    }
    const answer = await runStub(c).saveEnvironmentState(env_id, version, text);
    if (answer.status === "unknown_environment") throw unknown(env_id);
    if (answer.status === "conflict")
      throw new ApiError(409, `the state of environment ${env_id} is at version ${answer.version}, not ${version}`);
    return c.json({ version: answer.version, state });
  },
);

environmentsRoutes.get(
  "/evaluations",
  describe({
    summary: "What evaluations brought",
    description:
      "Newest first. The last 1,000 are kept; `before` the last one's id, further ones come, until there is none.",
    tag: "run",
    action: "read",
    query: evaluationListQuery,
    answer: evaluationsAnswer,
  }),
  access("read"),
  async (c) => {
    const { before, limit } = validate(c.req.query(), evaluationListQuery, "query");
    return c.json({ evaluations: await runStub(c).listEvaluations(before ?? null, limit) });
  },
);

function unknown(id: number): ApiError {
  return new ApiError(404, `no environment has env_id ${id}`);
}
