import { chatIds, decode, encode, type Policy, SPECIAL_ID, tokenText } from "../policy/index.ts";
import type { DetokenizeRequest, TokenizeRequest } from "./schemas.ts";

/** `POST /tokenize`: the ids of a text, or of a conversation as the policy's template renders it. */
export function tokenize(policy: Policy, request: TokenizeRequest) {
  const tokens =
    "messages" in request
      ? chatIds(request.messages, { addGenerationPrompt: request.add_generation_prompt ?? true })
      : [
          ...((request.add_special_tokens ?? true) ? [SPECIAL_ID.beginning] : []),
          ...encode(request.prompt, { special: true }),
        ];
  return { count: tokens.length, max_model_len: policy.config.maxLength, tokens, token_strs: tokens.map(tokenText) };
}

/** `POST /detokenize` */
export function detokenize({ tokens }: DetokenizeRequest) {
  return { prompt: decode(tokens) };
}
