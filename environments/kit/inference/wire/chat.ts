import { z } from "zod";
import { expectChoices, finiteLogprobs, parseBody, tokenIds } from "../checks.ts";
import { type ChatCompletion, type ChatRequest, finishReason } from "../completion.ts";
import type { Backend } from "../endpoint.ts";
import type { ToolCall } from "../messages.ts";

/** `POST /v1/chat/completions`, which all three kinds of servers have. */

export const CHAT = "/v1/chat/completions";

const call = z.looseObject({
  id: z.string().nullish(),
  function: z.looseObject({ name: z.string(), arguments: z.string().nullish() }),
});

const answer = z.looseObject({
  choices: z.array(
    z.looseObject({
      message: z.looseObject({
        content: z.string().nullish(),
        tool_calls: z.array(call).nullish(),
        reasoning: z.string().nullish(),
        reasoning_content: z.string().nullish(),
      }),
      finish_reason: z.string().nullish(),
      token_ids: z.unknown().optional(),
      logprobs: z.looseObject({ content: z.unknown().optional() }).nullish(),
    }),
  ),
});
type Choice = z.infer<typeof answer>["choices"][number];

/** @param root of the endpoint; OpenAI's own newer models refuse `max_tokens`, other servers know nothing else. */
export function chatBody(model: string, backend: Backend, root: string, request: ChatRequest): Record<string, unknown> {
  const limit = new URL(root).hostname === "api.openai.com" ? "max_completion_tokens" : "max_tokens";
  return {
    model,
    messages: request.messages,
    ...(request.tools === undefined || request.tools.length === 0 ? {} : { tools: request.tools }),
    n: request.n,
    [limit]: request.maxTokens,
    temperature: request.temperature,
    ...(request.topP === undefined ? {} : { top_p: request.topP }),
    ...(request.stop === undefined ? {} : { stop: request.stop }),
    ...(request.seed === undefined ? {} : { seed: request.seed }),
    ...(backend === "openai" || request.stopTokenIds === undefined ? {} : { stop_token_ids: request.stopTokenIds }),
    ...((request.logprobs ?? backend !== "openai") ? { logprobs: true } : {}),
    ...(backend === "vllm" ? { return_token_ids: true } : {}),
  };
}

/** @throws InferenceError (`response`) */
export function readChat(body: unknown, request: ChatRequest, where: string): ChatCompletion[] {
  const { choices } = parseBody(answer, body, where);
  return expectChoices(choices, request.n, where).map((choice) => readChoice(choice, where));
}

function readChoice({ message, finish_reason, token_ids, logprobs }: Choice, where: string): ChatCompletion {
  const tokens = token_ids === undefined || token_ids === null ? null : tokenIds(token_ids, "token_ids", where);
  const found = contentLogprobs(logprobs?.content, where);
  // Tool and reasoning parsers drop some of the one or the other: what doesn't fit together is worth nothing.
  const fit = tokens === null || found === null || tokens.length === found.length;
  return {
    text: message.content ?? "",
    reasoning: message.reasoning_content ?? message.reasoning ?? null,
    finishReason: finishReason(finish_reason),
    toolCalls: (message.tool_calls ?? []).map(toolCall),
    tokens: fit ? tokens : null,
    logprobs: fit ? found : null,
  };
}

function toolCall({ id, function: { name, arguments: text } }: z.infer<typeof call>, index: number): ToolCall {
  return { id: id ?? `call_${index}`, type: "function", function: { name, arguments: text ?? "{}" } };
}

function contentLogprobs(content: unknown, where: string): number[] | null {
  if (!Array.isArray(content)) return null;
  const values = content.map((entry: unknown) =>
    typeof entry === "object" && entry !== null ? Reflect.get(entry, "logprob") : entry,
  );
  return finiteLogprobs(values, "logprobs.content", where);
}
