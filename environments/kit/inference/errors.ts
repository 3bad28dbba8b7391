/**
 * What went wrong with a request to an inference server:
 * - `timeout`: no complete answer in time. `unreachable`: no connection, or one that broke off.
 * - `overloaded`: 429, or any answer that asks to wait longer than is worth while.
 * - `status`: another answer that is no success. `response`: a success whose body can't be used.
 * - `untrainable`: this endpoint can't give token ids. `aborted`: the caller gave up.
 */
export type InferenceFault =
  | "timeout"
  | "unreachable"
  | "overloaded"
  | "status"
  | "response"
  | "untrainable"
  | "aborted";

export interface InferenceErrorDetails {
  readonly status?: number | null;
  readonly endpointFault?: boolean;
  readonly retryAfterMs?: number | null;
}

const FAULT_OF_ENDPOINT: Readonly<Record<InferenceFault, boolean>> = {
  timeout: true,
  unreachable: true,
  overloaded: true,
  status: false,
  response: true,
  untrainable: false,
  aborted: false,
};

/** A request to an inference server that came to nothing. Its message holds no secret. */
export class InferenceError extends Error {
  override readonly name = "InferenceError";
  readonly reason: InferenceFault;
  /** HTTP status, where there was an answer. */
  readonly status: number | null;
  /** Whether another endpoint might do better: then the lease should say so. */
  readonly endpointFault: boolean;
  /** Milliseconds the server asked to wait. */
  readonly retryAfterMs: number | null;

  constructor(reason: InferenceFault, message: string, details: InferenceErrorDetails = {}) {
    super(message);
    this.reason = reason;
    this.status = details.status ?? null;
    this.endpointFault = details.endpointFault ?? FAULT_OF_ENDPOINT[reason];
    this.retryAfterMs = details.retryAfterMs ?? null;
  }
}
