import type { ToolCall } from "../inference/index.ts";

/** What a turn's text holds, once its tool calls are taken out. */
export interface ParsedTurn {
  readonly content: string;
  readonly toolCalls: readonly ToolCall[];
}

/** Finds tool calls in a turn's text. `turn` counts the episode's turns from 0, for ids of the calls. */
export type ToolCallParser = (text: string, turn: number) => ParsedTurn;

const CALL = /<tool_call>(.*?)<\/tool_call>/gs;

/**
 * Calls as Hermes and Qwen models write them: `<tool_call>{"name": …, "arguments": …}</tool_call>`. What can't be read stays
 * in the text: the environment decides what a malformed call is worth.
 */
export const hermesToolCalls: ToolCallParser = (text, turn) => {
  const toolCalls: ToolCall[] = [];
  const content = text.replaceAll(CALL, (whole, json: string) => {
    const call = readCall(json);
    if (call === null) return whole;
    toolCalls.push({ id: `call_${turn}_${toolCalls.length}`, type: "function", function: call });
    return "";
  });
  return { content: toolCalls.length === 0 ? text : content.trimEnd(), toolCalls };
};

function readCall(json: string): ToolCall["function"] | null {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value !== "object" || value === null) return null;
    const name: unknown = Reflect.get(value, "name");
    const given: unknown = Reflect.get(value, "arguments") ?? {};
    if (typeof name !== "string") return null;
    return { name, arguments: typeof given === "string" ? given : JSON.stringify(given) };
  } catch {
    return null;
  }
}
