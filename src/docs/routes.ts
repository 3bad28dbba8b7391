import { Hono } from "hono";
import { generateSpecs } from "hono-openapi";
import type { AppEnv } from "../app-env.ts";
import { answers } from "../wire/messages.ts";
import { describe } from "./describe.ts";
import { referencePage } from "./page.ts";

const documentation = {
  openapi: "3.1.0",
  info: {
    title: "Lachesis",
    version: "0.1.0",
    description:
      "The trajectory API: environments hand in scored groups, trainers take batches. Speaks the API of Atropos, and more.",
  },
  servers: [
    { url: "/", description: "the run `default`" },
    { url: "/runs/{run}", description: "any run", variables: { run: { default: "default" } } },
    {
      url: "/runs/{run}/as/{label}",
      description: "any run, for one environment whose polls carry no body",
      variables: { run: { default: "default" }, label: { default: "my-environment" } },
    },
  ],
  components: {
    securitySchemes: {
      bearer: { type: "http" as const, scheme: "bearer", bearerFormat: "JWT" },
      basic: { type: "http" as const, scheme: "basic", description: "any user, the token as password" },
    },
  },
};

/** What is open to everyone: it tells of the API and never of a run. */
export function docsRoutes(api: Hono<AppEnv>): Hono<AppEnv> {
  const documented = new Hono<AppEnv>({ strict: false });
  documented.get(
    "/health",
    describe({ summary: "Whether the server answers", tag: "server", action: null, answer: answers.health }),
    (c) => c.json({ status: "ok" }),
  );
  documented.route("/", api);
  const specs = () => generateSpecs(documented, { documentation, defaultValidationErrorResponse: false });

  const routes = new Hono<AppEnv>({ strict: false });
  routes.get("/health", (c) => c.json({ status: "ok" }));
  routes.get("/openapi.json", async (c) => c.json(await specs()));
  routes.get("/docs", async (c) => {
    c.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'");
    return c.html(referencePage(await specs()));
  });
  return routes;
}
