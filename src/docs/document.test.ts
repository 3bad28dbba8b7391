import { createExecutionContext, env } from "cloudflare:test";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { app } from "../app.ts";

const schema = z.looseObject({ type: z.string().optional(), properties: z.record(z.string(), z.unknown()).optional() });
const operation = z.object({
  summary: z.string().min(1),
  "x-action": z.string().optional(),
  parameters: z.array(
    z.object({ name: z.string(), in: z.string(), required: z.boolean(), description: z.string().min(1), schema }),
  ),
  requestBody: z.looseObject({ required: z.boolean() }).optional(),
  responses: z.record(z.string(), z.object({ content: z.record(z.string(), z.looseObject({})) })),
});
const document = z.object({
  paths: z.record(z.string(), z.record(z.string(), operation)),
  components: z.looseObject({ schemas: z.object({ Error: schema }) }),
});

async function get(path: string): Promise<string> {
  return (await app.fetch(new Request(`http://lachesis${path}`), env, createExecutionContext())).text();
}

const { paths, components } = document.parse(JSON.parse(await get("/openapi.json")));
const operations = Object.entries(paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, described]) => [method.toUpperCase(), path, described] as const),
);
const at = (method: string, path: string) => {
  const found = operations.find(([one, other]) => one === method && other === path);
  if (found === undefined) throw new Error(`${method} ${path} is not described`);
  return found[2];
};

/** The routes at the root: those below a run's name are the same. */
const served = app.routes
  .filter(({ method, path }) => method !== "ALL" && !path.startsWith("/runs/:run"))
  .map(({ method, path }) => `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`);

test("every route is described, with each of its methods, and nothing that isn't there", () => {
  expect(new Set(operations.map(([method, path]) => `${method} ${path}`))).toEqual(new Set(served));
});

test("the page shows all of them", async () => {
  const page = (await get("/docs")).replaceAll(/<[^>]*>|\s+/g, " ").replaceAll(/ +/g, " ");
  for (const route of served) expect(page).toContain(` ${route} `);
});

describe.each(operations)("%s %s", (_method, path, described) => {
  const { parameters, requestBody, responses } = described;
  const refusals = Object.keys(responses).map(Number);

  test("names the ids in its path, and what may be in its query and headers", () => {
    const named = parameters.filter((parameter) => parameter.in === "path");
    expect(named.map(({ name }) => `{${name}}`)).toEqual(path.match(/\{\w+\}/g) ?? []);
    for (const { name, required, schema } of named)
      expect([name, required, schema.type]).toEqual([name, true, "integer"]);
    for (const parameter of parameters) expect(parameter.required).toBe(parameter.in === "path");
  });

  test("names what it may answer", () => {
    if (described["x-action"] !== undefined) expect(refusals).toEqual(expect.arrayContaining([401, 403, 404, 503]));
    if (requestBody !== undefined) expect(refusals).toEqual(expect.arrayContaining([400, 413, 415]));
    expect(refusals.includes(422)).toBe(requestBody !== undefined || parameters.length > 0);
  });
});

test.each([
  ["GET", "/leases", "after", { type: "integer", minimum: 0, default: 0 }],
  ["GET", "/leases", "limit", { type: "integer", minimum: 1, maximum: 1_000, default: 100 }],
  ["GET", "/batch", "wait", { type: "number", minimum: 0, maximum: 300 }],
  ["GET", "/batch", "trainer", { type: "string" }],
  ["GET", "/status", "explain", { type: "string" }],
  ["POST", "/scored_data", "lachesis-lease", { type: "integer", minimum: 1 }],
  ["POST", "/scored_data_list", "idempotency-key", { type: "string" }],
  ["PUT", "/environments/{env_id}/state", "env_id", { type: "integer", minimum: 0 }],
])("%s %s has the parameter %s as it is read", (method, path, name, expected) => {
  expect(at(method, path).parameters.find((parameter) => parameter.name === name)?.schema).toMatchObject(expected);
});

test.each([
  ["/batches/{batch_id}/ack", false],
  ["/batches/{batch_id}/release", false],
  ["/leases/{lease_id}/renew", true],
  ["/register", true],
])("POST %s needs a body: %s", (path, required) => {
  expect(at("POST", path).requestBody?.required).toBe(required);
});

test("a body's fields have their defaults", () => {
  const text = JSON.stringify(at("POST", "/register").requestBody);
  expect(text).toMatch(/"max_batches_offpolicy":\{[^}]*"default":3[,}]/);
  expect(text).toContain('"default":{"equal_scores":false');
});

test.each([
  ["POST", "/register", 409],
  ["POST", "/fork", 409],
  ["POST", "/batches/{batch_id}/ack", 409],
  ["POST", "/scored_data", 409],
  ["POST", "/leases/{lease_id}/backlog", 409],
  ["PUT", "/environments/{env_id}/state", 409],
])("%s %s may answer %d", (method, path, status) => {
  expect(at(method, path).responses).toHaveProperty(String(status));
});

test("refusals have the shape of FastAPI's errors", () => {
  expect(components.schemas.Error.properties).toHaveProperty("detail");
});

test.each([
  ["/batch", ["batch", "batch_id", "step", "lease_expires_at", "hold", "rank", "world_size"]],
  ["/batches/{batch_id}", ["batch", "batch_id", "step"]],
])("what GET %s answers has the fields it has", (path, fields) => {
  const text = JSON.stringify(at("GET", path).responses["200"]);
  for (const field of fields) expect(text).toContain(`"${field}":`);
});
