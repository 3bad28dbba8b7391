import { describeRoute, resolver } from "hono-openapi";
import type { z } from "zod";
import type { Action } from "../auth/roles.ts";
import { parameters, withDefaults } from "./parameters.ts";

/** What the reference says of a route. */
export interface RouteDescription {
  readonly summary: string;
  /** Markdown. */
  readonly description?: string;
  readonly tag: "trainer" | "environment" | "run" | "server";
  /** The action a token must allow; null for a route that is open to all. */
  readonly action: Action | null;
  /** Ids in its path. */
  readonly path?: z.ZodObject;
  readonly query?: z.ZodObject;
  readonly headers?: z.ZodObject;
  readonly body?: z.ZodType;
  /** Whether the request may come without a body. */
  readonly isBodyOptional?: boolean;
  readonly answer: z.ZodType | "text" | "html";
  /** When it answers these, beyond what all routes of its kind do. */
  readonly refusals?: Readonly<Partial<Record<404 | 409 | 503, string>>>;
}

/** The name of the schema that all refusals but one have. */
export const ERROR_SCHEMA = "Error";

const TEXT = { schema: { type: "string" as const } };

/** Tells the OpenAPI document of a route. */
export function describe(route: RouteDescription) {
  const { summary, description, tag, action, path, query, headers, body, isBodyOptional = false } = route;
  return describeRoute({
    summary,
    tags: [tag],
    ...(description === undefined ? {} : { description }),
    security: action === null ? [] : [{ bearer: [] }, { basic: [] }],
    ...(action === null ? {} : { "x-action": action }),
    ...(body === undefined ? {} : { requestBody: { required: !isBodyOptional, content: json(body) } }),
    parameters: [...parameters("path", path), ...parameters("query", query), ...parameters("header", headers)],
    responses: { 200: { description: "success", content: content(route.answer) }, ...refusals(route) },
  });
}

function json(schema: z.ZodType) {
  return {
    "application/json": { schema: resolver(schema, { options: { unrepresentable: "any", override: withDefaults } }) },
  };
}

function content(answer: RouteDescription["answer"]) {
  if (answer === "text") return { "text/plain": TEXT };
  return answer === "html" ? { "text/html": TEXT } : json(answer);
}

function refusals({ action, path, query, headers, body, refusals: own = {} }: RouteDescription) {
  const texts: Record<number, string> = {};
  if (action !== null) {
    texts[401] = "no valid token";
    texts[403] = "a token for another run or another role, or a browser's request for a page of another origin";
    texts[404] = either("no run or label can be called so", own[404]);
    texts[503] = either("access is not set up; or not for the moment, see `Retry-After`", own[503]);
  }
  if (own[409] !== undefined) texts[409] = own[409];
  if (body !== undefined) {
    texts[413] = "the body is too large";
    texts[415] = "its encoding is neither gzip nor none";
  }
  if ([path, query, headers, body].some((part) => part !== undefined)) texts[422] = "a field is wrong";
  const schema = { $ref: `#/components/schemas/${ERROR_SCHEMA}` };
  const listed = Object.entries(texts).map(
    ([status, text]) => [status, { description: text, content: { "application/json": { schema } } }] as const,
  );
  return {
    ...(body === undefined ? {} : { 400: { description: "broken gzip", content: { "text/plain": TEXT } } }),
    ...Object.fromEntries(listed),
  };
}

function either(always: string, here: string | undefined): string {
  return here === undefined ? always : `${here}; ${always}`;
}
