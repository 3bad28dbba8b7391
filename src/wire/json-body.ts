import type { z } from "zod";
import { unprocessable } from "./api-error.ts";
import { readBody } from "./body.ts";
import { mayBeConfidential } from "./confidential.ts";
import { checkJson, type ScanError } from "./scanner/index.ts";

/** Characters of a text that an error repeats; what is longer is cut. */
const LONGEST_INPUT = 64;

/** Largest body of the routes that take a few settings, in bytes. */
export const SMALL_BODY_BYTES = 64 * 1024;

/**
 * Reads and validates a small JSON body, of at most `limit` bytes.
 * @throws ApiError 422 in FastAPI's shape; those of readBody.
 */
export async function jsonBody<T>(request: Request, schema: z.ZodType<T>, limit = SMALL_BODY_BYTES): Promise<T> {
  const text = await smallText(request, limit);
  if (text === "") throw unprocessable([{ type: "missing", loc: ["body"], msg: "Field required", input: null }]);
  return validate(parseJson(text), schema, "body");
}

/** As {@link jsonBody}, or null for a request without a body. */
export async function optionalJsonBody<T>(request: Request, schema: z.ZodType<T>): Promise<T | null> {
  const text = await smallText(request, SMALL_BODY_BYTES);
  return text === "" ? null : validate(parseJson(text), schema, "body");
}

/**
 * Validates a value that came in a request.
 * @throws ApiError 422 whose locations start with `place`.
 */
export function validate<T>(value: unknown, schema: z.ZodType<T>, place: "body" | "query" | "path" | "header"): T {
  const result = schema.safeParse(value, { reportInput: true });
  if (result.success) return result.data;
  throw unprocessable(result.error.issues.flatMap((issue) => scanErrors(issue, place, schema)));
}

async function smallText(request: Request, bytes: number): Promise<string> {
  return new TextDecoder().decode(await readBody(request, { bytes, remedy: "that is this route's limit" }));
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    const error = checkJson(text) ?? { type: "json_invalid", loc: ["body", 0], msg: "JSON decode error" };
    throw unprocessable([error]);
  }
}

function scanErrors(issue: z.core.$ZodIssue, place: string, schema: z.ZodType): ScanError[] {
  const loc = [place, ...issue.path.map((step) => (typeof step === "number" ? step : String(step)))];
  const input = (value: unknown) => (mayBeConfidential(schema, issue.path) ? {} : inputOf(value));
  if (issue.code === "unrecognized_keys") {
    const given = new Map<string, unknown>(Object.entries(Object(issue.input)));
    return issue.keys.map((key) => {
      return { type: "extra_forbidden", loc: [...loc, key], msg: issue.message, ...input(given.get(key)) };
    });
  }
  return [{ type: typeOf(issue), loc, msg: issue.message, ...input(issue.input) }];
}

/** pydantic's name for a kind of fault. */
function typeOf(issue: z.core.$ZodIssue): string {
  const named: unknown = issue.code === "custom" ? issue.params?.["type"] : undefined;
  if (typeof named === "string") return named;
  return issue.code === "invalid_type" && issue.expected === "object" ? "model_attributes_type" : "value_error";
}

/** A value that an answer repeats: a short, plain one. */
function inputOf(value: unknown): Pick<ScanError, "input"> {
  if (typeof value === "string") return { input: value.slice(0, LONGEST_INPUT) };
  // JSON has no infinity, which is what becomes of 1e999.
  if (typeof value === "number") return { input: Number.isFinite(value) ? value : String(value) };
  return value === null || typeof value === "boolean" ? { input: value } : {};
}
