import { z } from "zod";
import { alignLogprobs, expectChoices, finiteLogprob, parseBody, tokenIds, unusable } from "../checks.ts";
import { type Completion, type CompletionRequest, finishReason, type VersionSegment } from "../completion.ts";

/** SGLang's `POST /generate`, with token ids in and out. */

export const GENERATE = "/generate";

const output = z.looseObject({
  text: z.string(),
  output_ids: z.unknown().optional(),
  meta_info: z.looseObject({
    finish_reason: z.union([z.string(), z.looseObject({ type: z.string() })]).nullish(),
    output_token_logprobs: z.unknown().optional(),
    prompt_tokens: z.number().nullish(),
    weight_version: z.unknown().optional(),
  }),
});
/** One completion comes alone, several as a list. */
const answer = z.union([z.array(output), output.transform((single) => [single])]);
type Output = z.infer<typeof output>;

export function sglangBody(request: CompletionRequest): Record<string, unknown> {
  return {
    input_ids: request.prompt,
    sampling_params: {
      n: request.n,
      max_new_tokens: request.maxTokens,
      temperature: request.temperature,
      ...(request.topP === undefined ? {} : { top_p: request.topP }),
      ...(request.stop === undefined ? {} : { stop: request.stop }),
      ...(request.stopTokenIds === undefined ? {} : { stop_token_ids: request.stopTokenIds }),
      ...(request.seed === undefined ? {} : { sampling_seed: request.seed }),
      ...(request.keepStop ? { no_stop_trim: true } : {}),
      ...(request.skipSpecialTokens === false ? { skip_special_tokens: false } : {}),
    },
    return_logprob: true,
    // Sampled tokens only: those of the prompt would cost a pass over it.
    logprob_start_len: -1,
    top_logprobs_num: 0,
  };
}

/** @throws InferenceError (`response`) */
export function readSglang(body: unknown, request: CompletionRequest, where: string): Completion[] {
  const outputs = expectChoices(parseBody(answer, body, where), request.n, where);
  return outputs.map((one) => readOutput(one, request.prompt, where));
}

function readOutput({ text, output_ids, meta_info }: Output, prompt: readonly number[], where: string): Completion {
  const { prompt_tokens, finish_reason } = meta_info;
  if (typeof prompt_tokens === "number" && prompt_tokens !== prompt.length) {
    throw unusable(where, `a prompt of ${prompt_tokens} tokens, but ${prompt.length} were sent`);
  }
  const { logprobs, ids } = readPairs(meta_info.output_token_logprobs, where);
  // Older servers have no output_ids; the pairs hold the same.
  const tokens = output_ids === undefined || output_ids === null ? ids : tokenIds(output_ids, "output_ids", where);
  return {
    text,
    tokens,
    logprobs: alignLogprobs(tokens, logprobs, ids, where),
    finishReason: finishReason(typeof finish_reason === "string" ? finish_reason : finish_reason?.type),
    exact: true,
    versions: weightVersions(meta_info.weight_version, tokens.length),
    prompt: [...prompt],
  };
}

/** `[[logprob, id, text or null], …]` */
function readPairs(value: unknown, where: string): { logprobs: number[]; ids: number[] } {
  const name = "meta_info.output_token_logprobs";
  if (!Array.isArray(value)) throw unusable(where, `no ${name}`);
  const logprobs: number[] = [];
  const candidates: unknown[] = [];
  for (let index = 0; index < value.length; index++) {
    const pair: unknown = value[index];
    if (!Array.isArray(pair))
      throw unusable(where, `${name}[${index}] = ${JSON.stringify(pair)} instead of [logprob, id]`);
    logprobs.push(finiteLogprob(pair[0], name, index, where));
    candidates.push(pair[1]);
  }
  return { logprobs, ids: tokenIds(candidates, `the ids of ${name}`, where) };
}

/** The server names one version for the whole completion: the one it had at its end. Names that are no number tell nothing. */
function weightVersions(value: unknown, tokens: number): VersionSegment[] | null {
  const number = typeof value === "string" && /^\d+$/.test(value) ? Number(value) : value;
  if (typeof number !== "number" || !Number.isSafeInteger(number)) return null;
  return tokens === 0 ? [] : [[number, tokens]];
}
