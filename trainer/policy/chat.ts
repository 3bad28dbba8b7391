import { encode, SPECIAL_ID } from "./tokenizer.ts";
import { SPECIAL } from "./vocabulary.ts";

export const ROLES = ["system", "user", "assistant", "tool"] as const;

export type Role = (typeof ROLES)[number];

export interface Message {
  readonly role: Role;
  readonly content: string;
}

export interface ChatOptions {
  /** Opens an assistant message at the end, for the policy to fill. */
  readonly addGenerationPrompt?: boolean;
}

/**
 * The ids of a conversation: `<|begin|>`, then `<|role|>content<|end|>` a message. A longer conversation's ids extend a
 * shorter one's, and a sampled completion that ends with `<|end|>` is the assistant's message as this renders it.
 */
export function chatIds(messages: readonly Message[], { addGenerationPrompt = false }: ChatOptions = {}): number[] {
  const ids: number[] = [SPECIAL_ID.beginning];
  for (const { role, content } of messages) ids.push(SPECIAL_ID[role], ...encode(content), SPECIAL_ID.end);
  if (addGenerationPrompt) ids.push(SPECIAL_ID.assistant);
  return ids;
}

/** The same as text, special tokens written out. */
export function chatText(messages: readonly Message[], { addGenerationPrompt = false }: ChatOptions = {}): string {
  const texts = messages.map(({ role, content }) => `${SPECIAL[role]}${content}${SPECIAL.end}`);
  return `${SPECIAL.beginning}${texts.join("")}${addGenerationPrompt ? SPECIAL.assistant : ""}`;
}
