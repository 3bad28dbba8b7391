import { z } from "zod";
import { Adam } from "./adam.ts";
import { chatIds, type Message } from "./chat.ts";
import { Evaluation, type Target } from "./evaluation.ts";
import type { Model } from "./model.ts";
import { Random } from "./random.ts";
import { VOCABULARY } from "./vocabulary.ts";

/** Settings of pre-training. */
export const pretrainOptions = z.strictObject({
  steps: z.int().nonnegative().default(100),
  /** Chats a step. */
  chats: z.int().positive().default(8),
  learningRate: z.number().nonnegative().default(1e-2),
  /** Answers are whole numbers from 0 to this. */
  maxAnswer: z.int().nonnegative().default(12),
});

export type PretrainOptions = z.input<typeof pretrainOptions>;

const BARE_WORDS = VOCABULARY.filter((token) => /^[A-Z][a-z]+$/.test(token));
const SPACED_WORDS = VOCABULARY.filter((token) => /^ [A-Za-z]+$/.test(token));

/**
 * Teaches fresh weights the form of an answer and nothing of any task, as a base model has read text before it is trained by
 * reward: the user's words are drawn at random, and the number in the assistant's well formed answer has nothing to do with
 * them. What is right is left for the rewards to say. Ordinary next-token gradients on the assistant's tokens.
 */
export function pretrain(model: Model, weights: Float64Array, seed: number, options: PretrainOptions = {}): void {
  const { steps, chats, learningRate, maxAnswer } = pretrainOptions.parse(options);
  const random = new Random(seed);
  const optimizer = new Adam(weights.length, { learningRate });
  for (let step = 0; step < steps; step++) {
    const sequences: number[][] = [];
    const targets: Target[] = [];
    for (let sequence = 0; sequence < chats; sequence++) {
      const [prompt, answer] = syntheticChat(random, maxAnswer);
      const begin = chatIds(prompt, { addGenerationPrompt: true }).length;
      const tokens = chatIds([...prompt, answer]);
      sequences.push(tokens);
      for (let position = begin; position < tokens.length; position++) targets.push({ sequence, position });
    }
    const evaluation = new Evaluation(model, weights, sequences, targets);
    for (let target = 0; target < targets.length; target++) {
      evaluation.addSlope(target, { logprob: -1 / targets.length });
    }
    optimizer.step(weights, evaluation.gradient());
  }
}

/** A conversation of random words, and an answer in the form that it asks for. */
export function syntheticChat(random: Random, maxAnswer: number): [prompt: Message[], answer: Message] {
  const tags = random.uniform() < 0.3;
  const form = tags ? "<answer></answer>" : "\\boxed{}";
  const system = random.pick([
    `Solve the problem. Put the answer in ${form}.`,
    `Put your final answer in ${form}.`,
    `Give the answer in ${form} and think${randomWords(random, 3)}.`,
  ]);
  const number = random.integer(0, maxAnswer);
  const content = tags ? `<answer>${number}</answer>` : `\\boxed{${number}}`;
  const user: Message = { role: "user", content: randomText(random) };
  // Environments send their instruction as a system message or at the head of the user's.
  const place = random.uniform();
  const prompt: Message[] =
    place < 0.4
      ? [{ role: "system", content: system }, user]
      : place < 0.6 || tags
        ? [{ role: "user", content: `${system}\n${user.content}` }]
        : [user];
  return [prompt, { role: "assistant", content }];
}

function randomText(random: Random): string {
  const sentences = Array.from({ length: random.integer(1, 3) }, (_, index) => {
    const opener = random.pick(BARE_WORDS);
    const words = randomWords(random, random.integer(2, 8));
    return `${index === 0 ? "" : " "}${opener}${words}${random.pick([".", "?"])}`;
  });
  return sentences.join("");
}

/** Each with the space before it; every fifth is a number. */
function randomWords(random: Random, count: number): string {
  const words = Array.from({ length: count }, () =>
    random.uniform() < 0.2 ? ` ${random.integer(0, 99)}` : random.pick(SPACED_WORDS),
  );
  return words.join("");
}
