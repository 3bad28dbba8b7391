import { setImmediate as turn } from "node:timers/promises";
import { type Policy, type SampledSequence, SPECIAL_ID, sampling, tokenText } from "../policy/index.ts";
import { badRequest } from "./errors.ts";

/** Milliseconds of sampling before other requests, and new weights, get their turn. */
const SLICE = 4;

export interface GenerateRequest {
  readonly prompt: readonly number[];
  readonly n?: number | null | undefined;
  /** As many as fit when left out. */
  readonly maxTokens?: number | null | undefined;
  readonly temperature?: number | null | undefined;
  readonly stopTokenIds?: readonly number[] | null | undefined;
  readonly seed: number;
  /** Ends the work when the client is gone. */
  readonly signal: AbortSignal;
}

/**
 * Samples in slices. The policy may be trained or loaded between two of them; each sequence says which versions it is from.
 * @throws ApiError 400 when the prompt and the tokens asked for don't fit into the model
 */
export async function generate(policy: Policy, request: GenerateRequest): Promise<SampledSequence[]> {
  const { prompt, maxTokens, signal } = request;
  const { maxLength } = policy.config;
  checkLength(prompt.length, maxTokens ?? 1, maxLength);
  for (const id of prompt) tokenText(id);
  const running = sampling(policy.model, policy, {
    prompt,
    n: request.n ?? 1,
    maxTokens: maxTokens ?? maxLength - prompt.length,
    temperature: request.temperature ?? 1,
    stopTokenIds: [SPECIAL_ID.end, ...(request.stopTokenIds ?? [])],
    seed: request.seed,
  });
  for (let sliceEnd = performance.now() + SLICE; ; ) {
    const { done, value } = running.next();
    if (done) return value;
    if (performance.now() < sliceEnd) continue;
    await turn();
    signal.throwIfAborted();
    sliceEnd = performance.now() + SLICE;
  }
}

function checkLength(prompt: number, completion: number, maxLength: number): void {
  if (prompt + completion <= maxLength) return;
  throw badRequest(
    `This model's maximum context length is ${maxLength} tokens. However, you requested ${prompt + completion} tokens ` +
      `(${prompt} in the prompt, ${completion} in the completion). Please reduce the length of the prompt or completion.`,
  );
}
