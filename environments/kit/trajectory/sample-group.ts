import type { Inference, Message, Renderer, Sampling, Tool } from "../inference/index.ts";
import { generationOf, type Rollout } from "./rollout.ts";
import { SequenceBuilder } from "./sequence.ts";
import type { ToolCallParser } from "./tool-calls.ts";

export interface SampleGroupOptions extends Sampling {
  readonly inference: Inference;
  readonly renderer: Renderer;
  readonly messages: readonly Message[];
  readonly tools?: readonly Tool[] | undefined;
  readonly parseToolCalls?: ToolCallParser | undefined;
  /** Rollouts wanted. */
  readonly n: number;
  readonly skipSpecialTokens?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Samples n rollouts of one turn after the same chat, which is rendered once.
 * @throws InferenceError; then none of them is left
 */
export async function sampleGroup(options: SampleGroupOptions): Promise<Rollout[]> {
  const { inference, renderer, messages, tools, parseToolCalls, ...sampling } = options;
  const prompt = await renderer.render(messages, { tools, addGenerationPrompt: true });
  const asked = tools === undefined || tools.length === 0 ? messages : undefined;
  const completions = await inference.complete({ ...sampling, prompt, keepStop: true, messages: asked });
  return completions.map((completion) => {
    const { text, finishReason } = completion;
    const { content, toolCalls } = parseToolCalls?.(text, 0) ?? { content: text, toolCalls: [] };
    const turn: Message =
      toolCalls.length === 0
        ? { role: "assistant", content: text }
        : { role: "assistant", content, tool_calls: toolCalls };
    const chat = [...messages, turn];
    const builder = new SequenceBuilder();
    builder.addPrompt(prompt);
    builder.addSampled(completion);
    const generation = generationOf(inference, options);
    return { sequences: [builder.build(chat)], messages: chat, text, finishReason, generation };
  });
}
