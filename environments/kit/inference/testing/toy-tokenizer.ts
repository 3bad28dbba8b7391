import type { Message } from "../messages.ts";

/**
 * A tokenizer for tests: one id a character, so every text has exactly one tokenization, and a few special tokens that mark
 * whose turn it is, as real templates have them.
 */

const SPECIAL = ["<|system|>", "<|user|>", "<|assistant|>", "<|tool|>", "<|end|>", "<|tools|>"];

/** Ends a turn. */
export const END = SPECIAL.indexOf("<|end|>");

/** Characters begin here. */
const FIRST_CHARACTER = 16;

/** How the chat template treats earlier turns of the assistant. */
export type ToyTemplate =
  /** Keeps them. */
  | "append"
  /** Keeps them, but leaves out the token that ends them. */
  | "no-end"
  /** Takes `<think>…</think>` out of them. */
  | "strip-thinking";

/** Special tokens are recognised in text too. */
export function encode(text: string): number[] {
  const ids: number[] = [];
  for (const piece of text.split(/(<\|[a-z]+\|>)/)) {
    const special = SPECIAL.indexOf(piece);
    if (special !== -1) ids.push(special);
    else for (const character of piece) ids.push(FIRST_CHARACTER + (character.codePointAt(0) ?? 0));
  }
  return ids;
}

export function decode(ids: readonly number[], skipSpecial: boolean): string {
  return ids
    .map((id) => {
      if (id >= FIRST_CHARACTER) return String.fromCodePoint(id - FIRST_CHARACTER);
      return skipSpecial ? "" : (SPECIAL[id] ?? "");
    })
    .join("");
}

/** Renders a chat: `<|role|>content<|end|>` for each message, and `<|assistant|>` if its turn is begun. */
export function render(
  messages: readonly Message[],
  template: ToyTemplate,
  { tools = [], generationPrompt }: { tools?: readonly unknown[]; generationPrompt: boolean },
): string {
  const head = tools.length === 0 ? "" : `<|tools|>${JSON.stringify(tools)}<|end|>`;
  const turns = messages.map((message) => {
    const calls = (message.tool_calls ?? []).map(({ function: { name, arguments: text } }) => {
      return `<tool_call>{"name":${JSON.stringify(name)},"arguments":${text}}</tool_call>`;
    });
    const content = `${typeof message.content === "string" ? message.content : JSON.stringify(message.content)}${calls.join("")}`;
    if (message.role !== "assistant")
      return `<|${message.role === "developer" ? "system" : message.role}|>${content}<|end|>`;
    const kept = template === "strip-thinking" ? content.replaceAll(/<think>.*?<\/think>/gs, "") : content;
    return `<|assistant|>${kept}${template === "no-end" ? "" : "<|end|>"}`;
  });
  return `${head}${turns.join("")}${generationPrompt ? "<|assistant|>" : ""}`;
}
