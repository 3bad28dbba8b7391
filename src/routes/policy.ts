import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { runStub } from "../runs.ts";
import { jsonBody } from "../wire/json-body.ts";
import { policyAnswer, policyBody } from "../wire/rollouts.ts";

/** Which policy version is served, and where. */
export const policyRoutes = new Hono<AppEnv>({ strict: false });

policyRoutes.post(
  "/policy",
  describe({
    summary: "Publish a policy version or inference endpoints",
    description:
      "New rollout leases carry the version: the step of the last batch the policy learned from. Endpoints replace the ones before; they outlive a reset.",
    tag: "trainer",
    action: "train",
    body: policyBody,
    answer: policyAnswer,
  }),
  access("train"),
  async (c) => {
    const { version, endpoints } = await jsonBody(c.req.raw, policyBody);
    return c.json(await runStub(c).publishPolicy(version ?? null, endpoints ?? null));
  },
);

policyRoutes.get(
  "/policy",
  describe({
    summary: "Policy version, and how the inference endpoints do",
    tag: "run",
    action: "read",
    answer: policyAnswer,
  }),
  access("read"),
  async (c) => c.json(await runStub(c).policyStatus()),
);
