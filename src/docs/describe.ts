import { describeRoute, resolver } from "hono-openapi";
import { z } from "zod";
import type { Action } from "../auth/roles.ts";
import { answers } from "../wire/messages.ts";

/** What the reference says of a route. */
export interface RouteDescription {
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly tag: "trainer" | "environment" | "run" | "server";
  /** The action a token must allow; null for a route that is open to all. */
  readonly action: Action | null;
  readonly body?: z.ZodType;
  readonly query?: z.ZodObject;
  readonly answer: z.ZodType | "text";
}

function content(schema: z.ZodType) {
  return { "application/json": { schema: resolver(schema) } };
}

/** Tells the OpenAPI document of a route. */
export function describe({ summary, description, tag, action, body, query, answer }: RouteDescription) {
  return describeRoute({
    summary,
    tags: [tag],
    ...(description === undefined ? {} : { description }),
    security: action === null ? [] : [{ bearer: [] }, { basic: [] }],
    ...(action === null ? {} : { "x-action": action }),
    ...(body === undefined ? {} : { requestBody: { required: true, content: content(body) } }),
    ...(query === undefined ? {} : { parameters: parameters(query) }),
    responses: {
      200: {
        description: "success",
        content: answer === "text" ? { "text/plain": { schema: { type: "string" } } } : content(answer),
      },
      ...(body === undefined && query === undefined
        ? {}
        : { 422: { description: "a field is wrong", content: content(answers.error) } }),
      ...(action === null ? {} : { 401: { description: "no valid token", content: content(answers.error) } }),
    },
  });
}

function parameters(query: z.ZodObject) {
  return Object.entries(query.shape).map(([name, schema]) => ({
    name,
    in: "query" as const,
    required: false,
    ...jsonSchemaOf(schema),
  }));
}

/** A query parameter is one number or text. zod keeps what it is called inside its optional wrapper. */
function jsonSchemaOf(schema: unknown) {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  const meta = inner instanceof z.ZodType ? inner.meta() : undefined;
  const type = meta?.["type"] === "integer" || meta?.["type"] === "number" ? meta["type"] : "string";
  return { description: meta?.description ?? "", schema: { type } as const };
}
