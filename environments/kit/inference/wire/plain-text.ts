import { z } from "zod";
import { expectChoices, parseBody } from "../checks.ts";
import { type Completion, type CompletionRequest, finishReason, NO_LOGPROB } from "../completion.ts";
import { InferenceError } from "../errors.ts";
import type { Renderer } from "../renderer.ts";
import { readChat } from "./chat.ts";
import { COMPLETIONS } from "./vllm.ts";

/** Completions from servers that only know text: the ids are made afterwards, and marked. */

export function withoutTokenizer(root: string): InferenceError {
  return new InferenceError(
    "untrainable",
    `${root} is a plain OpenAI server: it gives no token ids, so what it samples can't be trained on. Use an endpoint with ` +
      'backend "vllm" or "sglang", or name a tokenizer (tokenizer.json) to accept tokens that are only its text\'s',
  );
}

const answer = z.looseObject({
  choices: z.array(z.looseObject({ text: z.string(), finish_reason: z.string().nullish() })),
});

export interface TextAnswer {
  readonly text: string;
  readonly finishReason: Completion["finishReason"];
}

export { COMPLETIONS as TEXT_COMPLETIONS };

/** @param prompt the text of `request.prompt` */
export function textBody(model: string, prompt: string, request: CompletionRequest): Record<string, unknown> {
  return {
    model,
    prompt,
    n: request.n,
    max_tokens: request.maxTokens,
    temperature: request.temperature,
    ...(request.topP === undefined ? {} : { top_p: request.topP }),
    ...(request.stop === undefined ? {} : { stop: request.stop }),
    ...(request.seed === undefined ? {} : { seed: request.seed }),
  };
}

export function readPlainText(body: unknown, request: CompletionRequest, where: string): TextAnswer[] {
  const { choices } = parseBody(answer, body, where);
  return expectChoices(choices, request.n, where).map((choice) => ({
    text: choice.text,
    finishReason: finishReason(choice.finish_reason),
  }));
}

/** @throws InferenceError (`untrainable`) for tool calls: the text they stood in is gone. */
export function readChatText(body: unknown, request: CompletionRequest, where: string): TextAnswer[] {
  return readChat(body, { ...request, messages: request.messages ?? [] }, where).map((choice) => {
    if (choice.toolCalls.length > 0) {
      throw new InferenceError("untrainable", `${where} took tool calls out of the text: use chat() for such turns`);
    }
    return choice;
  });
}

/** Tokenizes what was sampled. Logprobs are unknown: they would belong to the server's tokens, not to these. */
export async function tokenizedAfterwards(
  { text, finishReason }: TextAnswer,
  prompt: readonly number[],
  tokenizer: Renderer,
): Promise<Completion> {
  const tokens = await tokenizer.encode(text);
  const logprobs = tokens.map(() => NO_LOGPROB);
  return { text, tokens, logprobs, finishReason, exact: false, versions: null, prompt: [...prompt] };
}
