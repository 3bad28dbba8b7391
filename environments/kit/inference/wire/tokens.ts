import { z } from "zod";
import { parseBody, tokenIds, unusable } from "../checks.ts";
import type { Backend } from "../endpoint.ts";
import type { Message, Tool } from "../messages.ts";

/** `POST /tokenize` and `POST /detokenize`, as vLLM and SGLang have them. */

export const TOKENIZE = "/tokenize";
export const DETOKENIZE = "/detokenize";

/** A chat, whose template the server renders. */
export interface ChatPrompt {
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[] | undefined;
  /** Whether the assistant's turn is begun; default true. */
  readonly addGenerationPrompt?: boolean | undefined;
}

/** Never adds special tokens: a template brings its own, and a text put in the middle must not get any. */
export function tokenizeBody(model: string, prompt: string | ChatPrompt): Record<string, unknown> {
  if (typeof prompt === "string") return { model, prompt, add_special_tokens: false };
  const { messages, tools, addGenerationPrompt = true } = prompt;
  return {
    model,
    messages,
    ...(tools === undefined || tools.length === 0 ? {} : { tools }),
    add_generation_prompt: addGenerationPrompt,
    add_special_tokens: false,
  };
}

/** @throws InferenceError (`response`) */
export function readTokens(body: unknown, where: string): number[] {
  const { tokens, count } = parseBody(
    z.looseObject({ tokens: z.unknown().optional(), count: z.unknown().optional() }),
    body,
    where,
  );
  const ids = tokenIds(tokens, "tokens", where);
  if (typeof count === "number" && count !== ids.length) {
    throw unusable(where, `${ids.length} tokens, but a count of ${count}`);
  }
  return ids;
}

/** Special tokens stay in the text: vLLM always does so, SGLang must be asked. */
export function detokenizeBody(model: string, backend: Backend, tokens: readonly number[]): Record<string, unknown> {
  return { model, tokens, ...(backend === "sglang" ? { skip_special_tokens: false } : {}) };
}

/** @throws InferenceError (`response`) */
export function readText(body: unknown, where: string): string {
  const answer = z.looseObject({ prompt: z.string().optional(), text: z.string().optional() });
  const { prompt, text } = parseBody(answer, body, where);
  const found = prompt ?? text;
  if (found === undefined) throw unusable(where, "neither prompt (vLLM) nor text (SGLang)");
  return found;
}
