import { Hono } from "hono";
import { isDiskFull } from "../durable-objects/disk.ts";
import { isOverloaded, isPassing } from "../durable-objects/retry.ts";
import type { AppEnv } from "./app-env.ts";
import { docsRoutes } from "./docs/routes.ts";
import { batchRoutes } from "./routes/batch.ts";
import { droppedRoutes } from "./routes/dropped.ts";
import { environmentRoutes } from "./routes/environment.ts";
import { environmentsRoutes } from "./routes/environments.ts";
import { forkRoutes } from "./routes/fork.ts";
import { metricsRoutes } from "./routes/metrics.ts";
import { policyRoutes } from "./routes/policy.ts";
import { rolloutRoutes } from "./routes/rollouts.ts";
import { scoredDataRoutes } from "./routes/scored-data.ts";
import { statusRoutes } from "./routes/status.ts";
import { trainerRoutes } from "./routes/trainer.ts";
import { ApiError } from "./wire/api-error.ts";
import { INVALID_GZIP } from "./wire/body.ts";

/** The API of one run. */
export const runRoutes = new Hono<AppEnv>({ strict: false });
const families = [
  statusRoutes,
  trainerRoutes,
  environmentRoutes,
  scoredDataRoutes,
  batchRoutes,
  rolloutRoutes,
  policyRoutes,
  environmentsRoutes,
  droppedRoutes,
  forkRoutes,
  metricsRoutes,
];
for (const routes of families) runRoutes.route("/", routes);

/** Where a run's API is found: below its name, there also below an environment's label, and for the run "default" at the root. */
const PREFIXES = ["/runs/:run/as/:label", "/runs/:run", "/"];

const openRoutes = docsRoutes(runRoutes);
const openPaths = new Set(openRoutes.routes.map(({ path }) => path));

export const app = new Hono<AppEnv>({ strict: false });

// Hono answers HEAD with the GET handler, and those of a run hand out what they answer. What is open to all does not.
app.use(async (c, next) => {
  if (c.req.raw.method === "HEAD" && !openPaths.has(c.req.path.replace(/(?<=.)\/$/, "")))
    throw new ApiError(405, "Method Not Allowed", { allow: "GET, POST" });
  await next();
});
app.route("/", openRoutes);
for (const prefix of PREFIXES) app.route(prefix, runRoutes);
const routes = app.routes.filter(({ method }) => method !== "ALL");
for (const [path, methods] of Map.groupBy(routes, (route) => route.path)) {
  const allow = [...new Set(methods.map(({ method }) => method))].join(", ");
  app.all(path, () => {
    throw new ApiError(405, "Method Not Allowed", { allow });
  });
}

app.notFound((c) => c.json({ detail: "Not Found" }, 404));

app.onError((error, c) => {
  if (error instanceof ApiError) {
    for (const [name, value] of Object.entries(error.headers)) c.header(name, value);
    if (error.detail === INVALID_GZIP) return c.text(INVALID_GZIP, 400);
    return c.json({ detail: error.detail }, error.status);
  }
  console.error({
    message: "request failed",
    method: c.req.method,
    path: c.req.path,
    error: String(error),
    stack: error.stack,
  });
  if (isDiskFull(error)) {
    c.header("retry-after", "30");
    return c.json({ detail: "the disk of the run's storage is full: try again when trainers have taken batches" }, 503);
  }
  if (isPassing(error)) {
    c.header("retry-after", isOverloaded(error) ? "5" : "1");
    return c.json({ detail: "the run is not reachable for a moment: try again" }, 503);
  }
  return c.json({ detail: "Internal Server Error" }, 500);
});
