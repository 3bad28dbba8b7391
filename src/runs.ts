import type { Context } from "hono";
import type { AppEnv } from "./app-env.ts";
import { ApiError } from "./wire/api-error.ts";
import { DEFAULT_RUN, label, runName } from "./wire/names.ts";

/**
 * The run a request's path names.
 * @throws ApiError 404 for a name no run can have.
 */
export function runOf(c: Context<AppEnv>): string {
  const name = c.req.param("run") ?? DEFAULT_RUN;
  const result = runName.safeParse(name);
  if (!result.success) throw new ApiError(404, result.error.issues.map(({ message }) => message).join("; "));
  return result.data;
}

/** The label a request's path carries, or null. */
export function labelOf(c: Context<AppEnv>): string | null {
  const name = c.req.param("label");
  if (name === undefined) return null;
  const result = label.safeParse(name);
  if (!result.success) throw new ApiError(404, result.error.issues.map(({ message }) => message).join("; "));
  return result.data;
}

/** The object that holds the request's run. */
export function runStub(c: Context<AppEnv>) {
  return c.env.RUN.getByName(runOf(c));
}
