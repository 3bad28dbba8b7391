import { Hono } from "hono";
import { generateSpecs, resolver } from "hono-openapi";
import { z } from "zod";
import type { AppEnv } from "../app-env.ts";
import { answers } from "../wire/messages.ts";
import { describe, ERROR_SCHEMA } from "./describe.ts";
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
  const routes = new Hono<AppEnv>({ strict: false });
  const documented = new Hono<AppEnv>({ strict: false });
  routes.get(
    "/health",
    describe({ summary: "Whether the server answers", tag: "server", action: null, answer: answers.health }),
    (c) => c.json({ status: "ok" }),
  );
  routes.get(
    "/openapi.json",
    describe({ summary: "This reference, for programs", tag: "server", action: null, answer: z.looseObject({}) }),
    async (c) => c.json(await specs(documented)),
  );
  routes.get(
    "/docs",
    describe({ summary: "This reference, as a page", tag: "server", action: null, answer: "html" }),
    async (c) => {
      c.header("content-security-policy", "default-src 'none'; style-src 'unsafe-inline'");
      return c.html(referencePage(await specs(documented)));
    },
  );
  documented.route("/", routes);
  documented.route("/", api);
  return routes;
}

async function specs(documented: Hono<AppEnv>): ReturnType<typeof generateSpecs> {
  const { schema } = await resolver(answers.error).toOpenAPISchema();
  const components = { ...documentation.components, schemas: { [ERROR_SCHEMA]: schema } };
  return generateSpecs(documented, {
    documentation: { ...documentation, components },
    defaultValidationErrorResponse: false,
    // Or /openapi.json would pass for a file.
    excludeStaticFile: false,
  });
}
