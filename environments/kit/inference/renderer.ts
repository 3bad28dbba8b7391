import type { Inference } from "./inference.ts";
import type { Message, Tool } from "./messages.ts";

export interface RenderOptions {
  readonly tools?: readonly Tool[] | undefined;
  /** Whether the assistant's turn is begun. */
  readonly addGenerationPrompt: boolean;
}

/** Turns chats into token ids and back. */
export interface Renderer {
  /** The ids of a chat, by the model's template. */
  render(messages: readonly Message[], options: RenderOptions): Promise<number[]>;
  /** The text of ids, special tokens included. */
  decode(tokens: readonly number[]): Promise<string>;
  /** The ids of a text, without special tokens around it. */
  encode(text: string): Promise<number[]>;
}

/** Renders at the inference server, which knows its model's template. One request each. */
export function serverRenderer(inference: Inference): Renderer {
  return {
    render: (messages, options) => inference.tokenize({ messages, ...options }),
    decode: (tokens) => inference.detokenize(tokens),
    encode: (text) => inference.tokenize(text),
  };
}
