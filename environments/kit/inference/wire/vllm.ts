import { z } from "zod";
import {
  alignLogprobs,
  expectChoices,
  finiteLogprobs,
  parseBody,
  tokenIds,
  unusable,
  versionSegments,
} from "../checks.ts";
import { type Completion, type CompletionRequest, finishReason } from "../completion.ts";

/** vLLM's `POST /v1/completions`, with token ids in and out. */

export const COMPLETIONS = "/v1/completions";

const answer = z.looseObject({
  choices: z.array(
    z.looseObject({
      text: z.string(),
      finish_reason: z.string().nullish(),
      token_ids: z.unknown().optional(),
      prompt_token_ids: z.unknown().optional(),
      logprobs: z.looseObject({ tokens: z.unknown().optional(), token_logprobs: z.unknown().optional() }).nullish(),
      /** Ours, see below; real vLLM doesn't have it. */
      policy_versions: z.unknown().optional(),
    }),
  ),
});
type Choice = z.infer<typeof answer>["choices"][number];

/**
 * `return_tokens_as_token_ids` makes the logprobs name their ids ("token_id:123"): the only source of ids before vLLM
 * 0.10.2, and a check of `token_ids` since.
 */
export function vllmBody(model: string, request: CompletionRequest): Record<string, unknown> {
  return {
    model,
    prompt: request.prompt,
    n: request.n,
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    ...(request.topP === undefined ? {} : { top_p: request.topP }),
    ...(request.stop === undefined ? {} : { stop: request.stop }),
    ...(request.stopTokenIds === undefined ? {} : { stop_token_ids: request.stopTokenIds }),
    ...(request.seed === undefined ? {} : { seed: request.seed }),
    ...(request.keepStop ? { include_stop_str_in_output: true } : {}),
    ...(request.skipSpecialTokens === false ? { skip_special_tokens: false } : {}),
    logprobs: 0,
    return_token_ids: true,
    return_tokens_as_token_ids: true,
  };
}

/**
 * Reads the answer to {@link vllmBody}. Servers that know what they sampled with may add `choices[].policy_versions`:
 * `[[version, count], …]` over the completion's tokens, in order.
 * @throws InferenceError (`response`)
 */
export function readVllm(body: unknown, request: CompletionRequest, where: string): Completion[] {
  const { choices } = parseBody(answer, body, where);
  return expectChoices(choices, request.n, where).map((choice) => readChoice(choice, request.prompt, where));
}

function readChoice(choice: Choice, prompt: readonly number[], where: string): Completion {
  expectPrompt(choice.prompt_token_ids, prompt, where);
  if (choice.logprobs === undefined || choice.logprobs === null) throw unusable(where, "no logprobs");
  const logprobIds = idsOfNames(choice.logprobs.tokens);
  const tokens = sampledIds(choice.token_ids, logprobIds, where);
  const logprobs = finiteLogprobs(choice.logprobs.token_logprobs, "logprobs.token_logprobs", where);
  return {
    text: choice.text,
    tokens,
    logprobs: alignLogprobs(tokens, logprobs, logprobIds, where),
    finishReason: finishReason(choice.finish_reason),
    exact: true,
    versions: versionSegments(choice.policy_versions, tokens.length, where),
    prompt: [...prompt],
  };
}

function sampledIds(given: unknown, logprobIds: number[] | null, where: string): number[] {
  if (given !== undefined && given !== null) return tokenIds(given, "token_ids", where);
  if (logprobIds !== null) return logprobIds;
  throw unusable(
    where,
    "no token_ids: vLLM gives them from 0.10.2 on, older ones with --return-tokens-as-token-ids; a proxy may drop them",
  );
}

const NAMED_ID = /^token_id:(\d+)$/;

/** The ids of "token_id:123" names; null if any name is something else. */
function idsOfNames(names: unknown): number[] | null {
  if (!Array.isArray(names)) return null;
  const ids: number[] = [];
  for (const name of names) {
    const id = typeof name === "string" ? NAMED_ID.exec(name)?.[1] : undefined;
    if (id === undefined) return null;
    ids.push(Number(id));
  }
  return ids;
}

/** A server that cut the prompt or added a BOS has sampled something else than will be trained on. */
function expectPrompt(echoed: unknown, prompt: readonly number[], where: string): void {
  if (echoed === undefined || echoed === null) return;
  const used = tokenIds(echoed, "prompt_token_ids", where);
  if (used.length === prompt.length && used.every((id, index) => id === prompt[index])) return;
  throw unusable(where, `a prompt of ${used.length} tokens that is not the one sent (${prompt.length} tokens)`);
}
