import { z } from "zod";

/** An answer that is not a success, in OpenAI's shape: `{error: {message, type, param, code}}`. */
export class ApiError extends Error {
  readonly status: number;
  readonly type: string;

  constructor(status: number, type: string, message: string) {
    super(message);
    this.status = status;
    this.type = type;
  }

  body(): { error: { message: string; type: string; param: null; code: number } } {
    return { error: { message: this.message, type: this.type, param: null, code: this.status } };
  }
}

export function badRequest(message: string): ApiError {
  return new ApiError(400, "BadRequestError", message);
}

/** What the client hears of anything thrown while its request was served. */
export function toApiError(error: unknown): ApiError {
  if (error instanceof ApiError) return error;
  if (error instanceof z.ZodError) return badRequest(z.prettifyError(error));
  // The policy throws these for ids and lengths that it can't take.
  if (error instanceof RangeError) return badRequest(error.message);
  const message = error instanceof Error ? error.message : String(error);
  return new ApiError(500, "InternalServerError", message);
}
