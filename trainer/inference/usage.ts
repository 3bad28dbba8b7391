import type { SampledSequence } from "../policy/index.ts";

/** Token counts as OpenAI has them: each prompt once, whatever n is. */
export function usage(prompts: readonly (readonly number[])[], sequences: readonly SampledSequence[]) {
  const prompt_tokens = prompts.reduce((sum, prompt) => sum + prompt.length, 0);
  const completion_tokens = sequences.reduce((sum, { tokens }) => sum + tokens.length, 0);
  return { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens };
}
