import type { z } from "zod";
import { unprocessable } from "./api-error.ts";
import { readBody } from "./body.ts";
import { checkJson, type ScanError } from "./scanner/index.ts";

/** Largest body of the routes that take a few settings. */
const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Reads and validates a small JSON body.
 * @throws ApiError 422 in FastAPI's shape.
 */
export async function jsonBody<T>(request: Request, schema: z.ZodType<T>): Promise<T> {
  const text = await smallText(request);
  if (text === "") throw unprocessable([{ type: "missing", loc: ["body"], msg: "Field required", input: null }]);
  return validate(parseJson(text), schema, "body");
}

/** As {@link jsonBody}, or null for a request without a body. */
export async function optionalJsonBody<T>(request: Request, schema: z.ZodType<T>): Promise<T | null> {
  const text = await smallText(request);
  return text === "" ? null : validate(parseJson(text), schema, "body");
}

/**
 * Validates a value that came in a request.
 * @throws ApiError 422 whose locations start with `place`.
 */
export function validate<T>(value: unknown, schema: z.ZodType<T>, place: "body" | "query" | "path" | "header"): T {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  throw unprocessable(result.error.issues.flatMap((issue) => scanErrors(issue, place)));
}

async function smallText(request: Request): Promise<string> {
  return new TextDecoder().decode(await readBody(request, SMALL_BODY_BYTES));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const error = checkJson(text) ?? { type: "json_invalid", loc: ["body", 0], msg: "JSON decode error" };
    throw unprocessable([error]);
  }
}

function scanErrors(issue: z.core.$ZodIssue, place: string): ScanError[] {
  const loc = [place, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  if (issue.code === "unrecognized_keys")
    return issue.keys.map((key) => ({ type: "extra_forbidden", loc: [...loc, key], msg: issue.message }));
  if (issue.code === "custom") {
    const type: unknown = issue.params?.["type"];
    return [
      { type: typeof type === "string" ? type : "value_error", loc, msg: issue.message, ...inputOf(issue.input) },
    ];
  }
  const type = issue.code === "invalid_type" && issue.expected === "object" ? "model_attributes_type" : "value_error";
  return [{ type, loc, msg: issue.message, ...inputOf(issue.input) }];
}

function inputOf(input: unknown): Pick<ScanError, "input"> {
  if (input === null || typeof input === "string" || typeof input === "number" || typeof input === "boolean")
    return { input };
  return {};
}
