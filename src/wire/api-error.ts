import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ScanError } from "./scanner/index.ts";

/** A request that can't be served, with the answer its client gets: `{"detail": …}`, as FastAPI words errors. */
export class ApiError extends Error {
  readonly status: ContentfulStatusCode;
  readonly detail: string | readonly ScanError[];
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: ContentfulStatusCode,
    detail: string | readonly ScanError[],
    headers: Record<string, string> = {},
  ) {
    super(typeof detail === "string" ? detail : detail.map(({ loc, msg }) => `${loc.join(".")}: ${msg}`).join("; "));
    this.status = status;
    this.detail = detail;
    this.headers = headers;
  }
}

/** A request that doesn't validate: 422 with FastAPI's list of faults. */
export function unprocessable(errors: readonly ScanError[]): ApiError {
  return new ApiError(422, errors);
}
