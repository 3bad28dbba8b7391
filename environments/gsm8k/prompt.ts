import type { Message } from "../kit/inference/messages.ts";
import type { Gsm8kConfig } from "./config.ts";
import type { Gsm8kItem } from "./item.ts";

/** The messages that ask for an item's answer. */
export function promptOf(item: Gsm8kItem, config: Gsm8kConfig): Message[] {
  const system = config.system_prompt ?? (config.difficulty === "tiny" ? "" : instructions(config));
  const question: Message = { role: "user", content: item.question };
  return system === "" ? [question] : [{ role: "system", content: system }, question];
}

function instructions({ max_tokens }: Gsm8kConfig): string {
  return [
    "You solve word problems. Work through the problem step by step inside <think> and </think> first, checking each step.",
    `You have ${max_tokens} tokens at most, thinking included; use fewer if you can.`,
    "After </think>, end with the answer alone, as a number in a box: \\boxed{number}. Without the box it may not count.",
  ].join("\n");
}
