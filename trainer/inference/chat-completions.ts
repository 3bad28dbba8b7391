import { chatIds, decode, type Policy, type SampledSequence, tokenText } from "../policy/index.ts";
import type { Context } from "./context.ts";
import { generate } from "./generate.ts";
import type { ChatRequest } from "./schemas.ts";
import { usage } from "./usage.ts";

/** `POST /v1/chat/completions`: the conversation is rendered with the policy's own template. */
export async function chatCompletions(policy: Policy, request: ChatRequest, context: Context) {
  const prompt = chatIds(request.messages, { addGenerationPrompt: true });
  const sequences = await generate(policy, {
    prompt,
    n: request.n,
    maxTokens: request.max_completion_tokens ?? request.max_tokens,
    temperature: request.temperature,
    stopTokenIds: request.stop_token_ids,
    seed: context.seed(request.seed),
    signal: context.signal,
  });
  return {
    id: `chatcmpl-${context.id}`,
    object: "chat.completion",
    created: context.created,
    model: context.model,
    choices: sequences.map((sequence, index) => choice(sequence, index, request)),
    usage: usage([prompt], sequences),
    ...(request.return_token_ids === true ? { prompt_token_ids: prompt } : {}),
  };
}

function choice(sequence: SampledSequence, index: number, request: ChatRequest) {
  const { tokens, logprobs, finishReason, policyVersions } = sequence;
  const content = tokens.map((id, position) => {
    const token = tokenText(id);
    return { token, logprob: logprobs[position], bytes: [...new TextEncoder().encode(token)], top_logprobs: [] };
  });
  return {
    index,
    message: { role: "assistant", content: decode(tokens, { skipSpecial: true }), tool_calls: [] },
    finish_reason: finishReason,
    stop_reason: null,
    logprobs: request.logprobs === true ? { content } : null,
    ...(request.return_token_ids === true ? { token_ids: tokens } : {}),
    policy_versions: policyVersions,
  };
}
