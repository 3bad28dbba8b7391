import { decode, encode, type Policy, type SampledSequence, SPECIAL_ID, tokenText } from "../policy/index.ts";
import type { Context } from "./context.ts";
import { generate } from "./generate.ts";
import type { CompletionRequest } from "./schemas.ts";
import { usage } from "./usage.ts";

/** Tokens of a completion when the request doesn't say, as in OpenAI's API. */
const DEFAULT_TOKENS = 16;

/** `POST /v1/completions`: choices of all prompts, n a prompt, in order. */
export async function completions(policy: Policy, request: CompletionRequest, context: Context) {
  const prompts = promptsOf(request.prompt);
  const choices = [];
  const sampled: SampledSequence[] = [];
  for (const prompt of prompts) {
    const sequences = await generate(policy, {
      prompt,
      n: request.n,
      maxTokens: request.max_tokens ?? DEFAULT_TOKENS,
      temperature: request.temperature,
      stopTokenIds: request.stop_token_ids,
      seed: context.seed(request.seed),
      signal: context.signal,
    });
    for (const sequence of sequences) choices.push(choice(sequence, choices.length, prompt, request));
    sampled.push(...sequences);
  }
  return {
    id: `cmpl-${context.id}`,
    object: "text_completion",
    created: context.created,
    model: context.model,
    choices,
    usage: usage(prompts, sampled),
  };
}

function choice(sequence: SampledSequence, index: number, prompt: readonly number[], request: CompletionRequest) {
  const { tokens, logprobs, finishReason, policyVersions } = sequence;
  const withLogprobs = request.logprobs !== undefined && request.logprobs !== null;
  const ids = request.return_token_ids === true ? { token_ids: tokens, prompt_token_ids: prompt } : {};
  return {
    index,
    text: decode(tokens, { skipSpecial: true }),
    finish_reason: finishReason,
    stop_reason: null,
    logprobs: withLogprobs ? { tokens: tokens.map(tokenText), token_logprobs: logprobs } : null,
    ...ids,
    policy_versions: policyVersions,
  };
}

/** A text begins with the beginning token, added as vLLM does; ids are taken as they are. */
function promptsOf(prompt: CompletionRequest["prompt"]): number[][] {
  if (typeof prompt === "string") return [[SPECIAL_ID.beginning, ...encode(prompt, { special: true })]];
  const several: number[][] = [];
  const single: number[] = [];
  for (const part of prompt) {
    if (typeof part === "number") single.push(part);
    else several.push(typeof part === "string" ? (promptsOf(part)[0] ?? []) : part);
  }
  return single.length > 0 ? [single] : several;
}
