import type { Backend, FinishReason, Inference, Message, Sampling } from "../inference/index.ts";
import type { Sequence } from "./sequence.ts";

/** How a rollout was sampled, for a group's `generation_params`. */
export interface Generation {
  readonly temperature: number;
  /** Of one turn. */
  readonly maxTokens: number;
  /** What the logprobs are of: vLLM takes them before temperature, SGLang after it. */
  readonly logprobs: "raw" | "after_temperature" | "unknown";
  readonly backend: Backend;
  readonly model: string;
}

/** One sampled completion, or one episode. */
export interface Rollout {
  /** More than one where the sequence forked. At least one. */
  readonly sequences: readonly Sequence[];
  /** The whole chat. */
  readonly messages: readonly Message[];
  /** Of the last turn. */
  readonly text: string;
  readonly finishReason: FinishReason;
  readonly generation: Generation;
}

const LOGPROBS = { vllm: "raw", sglang: "after_temperature", openai: "unknown" } as const;

export function generationOf({ endpoint }: Inference, { temperature, maxTokens }: Sampling): Generation {
  const { backend, model } = endpoint;
  return { temperature, maxTokens, logprobs: LOGPROBS[backend], backend, model };
}
