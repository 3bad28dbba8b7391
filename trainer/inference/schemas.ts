import { z } from "zod";
import { ROLES } from "../policy/index.ts";

/** Of one prompt. Each may be as long as the model allows, and takes about 7 KB a token while it is sampled. */
const MAX_COMPLETIONS = 128;

const ids = z.array(z.int().nonnegative());
const model = z.string().nullish();

/** Settings that this server doesn't have are refused rather than left out: the samples would not be what was asked for. */
const unsupported = (advice: string) => z.null(`is not supported: ${advice}`).optional();
const onlyValue = (value: number) =>
  z.literal(value, `is not supported: leave it out or give ${value}, every token is sampled from`).nullish();

const sampling = {
  model,
  n: z.int().min(1).max(MAX_COMPLETIONS).nullish(),
  temperature: z.number().min(0).max(100).nullish(),
  seed: z.int().nonnegative().nullish(),
  stop_token_ids: ids.nullish(),
  return_token_ids: z.boolean().nullish(),
  stream: z.literal(false, "is not supported: ask for the whole answer").nullish(),
  stop: z.union([z.tuple([]), unsupported("use stop_token_ids")]).optional(),
  top_p: onlyValue(1),
  min_p: onlyValue(0),
  top_k: z.literal([0, -1], "is not supported: leave it out or give 0, every token is sampled from").nullish(),
};

export const completionRequest = z.object({
  ...sampling,
  prompt: z.union([z.string(), ids.min(1), z.array(ids.min(1)).min(1), z.array(z.string()).min(1)], {
    error: "give a text, token ids, or a list of one of them",
  }),
  max_tokens: z.int().min(1).nullish(),
  /** Any number gives the sampled token's logprob; other candidates aren't listed. */
  logprobs: z.int().min(0).nullish(),
});

const text = z.object({ type: z.literal("text"), text: z.string() });

export const message = z
  .object({
    role: z.enum(ROLES),
    /** Null where an assistant only called tools. */
    content: z.union([z.string(), z.array(text)]).nullish(),
  })
  .transform(({ role, content }) => ({
    role,
    content: typeof content === "string" ? content : (content ?? []).map((part) => part.text).join(""),
  }));

const messages = z.array(message).min(1);

export const chatRequest = z.object({
  ...sampling,
  messages,
  max_tokens: z.int().min(1).nullish(),
  max_completion_tokens: z.int().min(1).nullish(),
  logprobs: z.boolean().nullish(),
});

export const tokenizeRequest = z.union([
  z.object({ model, prompt: z.string(), add_special_tokens: z.boolean().nullish() }),
  z.object({ model, messages, add_generation_prompt: z.boolean().nullish() }),
]);

export const detokenizeRequest = z.object({ model, tokens: ids });

export type CompletionRequest = z.output<typeof completionRequest>;
export type ChatRequest = z.output<typeof chatRequest>;
export type TokenizeRequest = z.output<typeof tokenizeRequest>;
export type DetokenizeRequest = z.output<typeof detokenizeRequest>;
