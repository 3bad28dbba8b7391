import type { z } from "zod";
import { ApiError } from "./api-error.ts";
import { validate } from "./json-body.ts";
import type { ScanError } from "./scanner/index.ts";

/** What is wrong with a message. @throws Error when nothing is. */
export function faults(
  value: unknown,
  schema: z.ZodType,
  place: "body" | "query" | "path" = "body",
): readonly ScanError[] {
  try {
    validate(value, schema, place);
  } catch (error) {
    if (error instanceof ApiError && typeof error.detail !== "string") return error.detail;
    throw error;
  }
  throw new Error("it is valid");
}
