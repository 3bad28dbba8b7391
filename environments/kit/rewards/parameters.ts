import { z } from "zod";
import { ANSWER_SOURCES, answersEqual, finalAnswer, referenceAnswer } from "../answers/index.ts";
import type { RewardedCompletion, RewardGroup } from "./define.ts";

/** Parameters of every reward function that asks whether a completion is right. */
export const accuracyParameters = {
  tolerance: z
    .number()
    .nonnegative()
    .default(1e-6)
    .describe("Largest difference of equal numbers that are not both integers; relative above 1"),
  sources: z
    .array(z.enum(ANSWER_SOURCES))
    .min(1)
    .default(["boxed", "tag"])
    .describe("Where the answer may stand, in the order tried"),
  answer_tag: z.string().min(1).default("answer").describe("Name of the tag around the answer"),
  thinking_opened: z.boolean().default(false).describe("Whether the prompt ends inside a thinking block"),
};

type Accuracy = z.output<z.ZodObject<typeof accuracyParameters>>;

/**
 * Whether a completion's answer is the group's.
 * @throws when the group has no answer: nothing can be right or wrong then.
 */
export function isRight(completion: RewardedCompletion, group: RewardGroup, parameters: Accuracy): boolean {
  if (group.answer === null) throw new Error("the item has no answer to compare with");
  const { sources, answer_tag: tag, thinking_opened: thinkingOpened } = parameters;
  const given = finalAnswer(completion.text, { sources, tag, thinkingOpened });
  return given !== null && answersEqual(given, referenceAnswer(group.answer), parameters.tolerance);
}

/** Parameters of every reward function that asks whether a completion is well formed. */
export const formatParameters = {
  tags: z
    .array(z.string().regex(/^[A-Za-z][\w-]*$/, "must be a tag's name, without brackets"))
    .min(1)
    .default(["think", "answer"])
    .describe("Tags that belong into a completion, each opened and closed"),
  require_all: z.boolean().default(true).describe("Whether all tags have to be there; otherwise one will do"),
  case_sensitive: z.boolean().default(false).describe("Whether the case of a tag's name counts"),
  prefix: z.string().default("").describe("What the prompt wrote of the answer already, such as <think>"),
};

type Format = z.output<z.ZodObject<typeof formatParameters>>;

export function isWellFormed(completion: RewardedCompletion, parameters: Format): boolean {
  const fold = (text: string) => (parameters.case_sensitive ? text : text.toLowerCase());
  const text = fold(parameters.prefix + completion.text);
  const has = (tag: string): boolean => {
    const open = text.indexOf(`<${fold(tag)}>`);
    return open !== -1 && text.includes(`</${fold(tag)}>`, open);
  };
  return parameters.require_all ? parameters.tags.every(has) : parameters.tags.some(has);
}
