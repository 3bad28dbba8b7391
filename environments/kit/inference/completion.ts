import type { Message, Tool, ToolCall } from "./messages.ts";

export type FinishReason = "stop" | "length" | "tool_calls" | "abort" | "other";

/** Tokens of one policy version in a row: `[version, count]`. */
export type VersionSegment = readonly [version: number, count: number];

/** One sampled completion. */
export interface Completion {
  readonly text: string;
  /** As sampled, the end-of-sequence token included when it was sampled. */
  readonly tokens: number[];
  /** As long as `tokens`; {@link NO_LOGPROB} where there is none, which only happens when `exact` is false. */
  readonly logprobs: number[];
  readonly finishReason: FinishReason;
  /** Whether ids and logprobs come from the server that sampled them; false: the text was tokenized afterwards. */
  readonly exact: boolean;
  /** Counts sum to the number of tokens; null when the server doesn't tell. */
  readonly versions: readonly VersionSegment[] | null;
  /** The ids that were sent. */
  readonly prompt: number[];
}

/** Stands where a position has no logprob (the stock rule): no logprob can be 1. */
export const NO_LOGPROB = 1;

/** How to sample. */
export interface Sampling {
  /** Of one completion. */
  readonly maxTokens: number;
  readonly temperature: number;
  readonly topP?: number | undefined;
  readonly stop?: readonly string[] | undefined;
  readonly stopTokenIds?: readonly number[] | undefined;
  /** With more than one call, each call gets a seed derived from it. */
  readonly seed?: number | undefined;
}

export interface CompletionRequest extends Sampling {
  readonly prompt: readonly number[];
  /** Completions wanted. More than 8 are split over several calls. */
  readonly n: number;
  /** Whether a stop string stays in the text, as its tokens do; default false. */
  readonly keepStop?: boolean | undefined;
  /** Whether special tokens are left out of the text; default true, as the servers do. */
  readonly skipSpecialTokens?: boolean | undefined;
  /** What `prompt` was rendered from. Plain OpenAI servers are asked by chat with these, the others don't need them. */
  readonly messages?: readonly Message[] | undefined;
  readonly signal?: AbortSignal | undefined;
}

export interface ChatRequest extends Sampling {
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[] | undefined;
  readonly n: number;
  /** Whether to ask for logprobs; default: not from plain OpenAI servers, some of whose models refuse. */
  readonly logprobs?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** One answer of a chat route. Good for judging and evaluation. */
export interface ChatCompletion {
  readonly text: string;
  /** What a reasoning parser split off, where the server has one. */
  readonly reasoning: string | null;
  readonly finishReason: FinishReason;
  readonly toolCalls: readonly ToolCall[];
  /** Null unless the server gives ids and as many logprobs. */
  readonly tokens: number[] | null;
  readonly logprobs: number[] | null;
}

/** Reads a server's word for it. */
export function finishReason(word: string | null | undefined): FinishReason {
  switch (word) {
    case "stop":
    case "length":
    case "tool_calls":
    case "abort":
      return word;
    default:
      return "other";
  }
}
