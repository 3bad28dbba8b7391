import { Hono } from "hono";
import type { AppEnv } from "../app-env.ts";
import { access } from "../auth/access.ts";
import { describe } from "../docs/describe.ts";
import { EXPOSITION_TYPE, exposition } from "../metrics/exposition.ts";
import { families } from "../metrics/families.ts";
import { runOf, runStub } from "../runs.ts";

/** What Prometheus scrapes. */
export const metricsRoutes = new Hono<AppEnv>({ strict: false });

metricsRoutes.get(
  "/metrics",
  describe({
    summary: "Metrics of the run",
    description: "Prometheus' text format, 0.0.4. Histograms and acks are counted since the run's object woke.",
    tag: "run",
    action: "read",
    answer: "text",
  }),
  access("read"),
  async (c) => {
    const metrics = await runStub(c).metrics();
    return c.body(exposition(families(runOf(c), metrics)), 200, { "content-type": EXPOSITION_TYPE });
  },
);
