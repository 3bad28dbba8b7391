import type { Message } from "../kit/inference/messages.ts";
import type { LetterCountingConfig } from "./config.ts";
import type { LetterCountingItem } from "./items.ts";

type PromptSettings = Pick<LetterCountingConfig, "system_prompt" | "sources">;

/** The messages that ask for an item's counts. */
export function promptOf(item: LetterCountingItem, { system_prompt, sources }: PromptSettings): Message[] {
  const system =
    system_prompt ?? "Think first, inside <think> and </think>: spell the text out and count. Then give your answer.";
  const question: Message = { role: "user", content: `${questionOf(item)} ${formOf(item, sources[0] ?? "tag")}` };
  return system === "" ? [question] : [{ role: "system", content: system }, question];
}

function questionOf({ text, letters }: LetterCountingItem): string {
  const quoted = letters.map((letter) => `"${letter}"`);
  if (quoted.length === 1) return `How often does the letter ${quoted[0]} occur in "${text}"?`;
  return `How often does each of the letters ${quoted.slice(0, -1).join(", ")} and ${quoted.at(-1)} occur in "${text}"?`;
}

/** How to answer. The example counts are zeros, so that they give nothing away. */
function formOf({ letters }: LetterCountingItem, source: LetterCountingConfig["sources"][number]): string {
  const several = letters.length > 1;
  const example = several ? `{${letters.map((letter) => `"${letter}": 0`).join(", ")}}` : "0";
  const what = several ? "the counts" : "the number";
  if (source === "tag") return `Give ${what} once, like this: <answer>${example}</answer>`;
  if (source === "boxed")
    return `Give ${what} in a box at the end, like this: \\boxed{${several ? example.slice(1, -1) : example}}`;
  return `End with ${what}.`;
}
