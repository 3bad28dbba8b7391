import type { Completion } from "./completion.ts";
import { type Rollout, trainedTokens } from "./trajectory/index.ts";

/** A rollout in the form that scores and rewards take: the text is that of its last turn, the counts are of all turns. */
export function completionOf({ text, sequences }: Rollout): Completion {
  // Exactly what was sampled is trained on.
  const tokens = sequences.reduce((sum, sequence) => sum + trainedTokens(sequence), 0);
  return { text, tokens, trainedTokens: tokens, truncated: sequences.some(({ truncated }) => truncated) };
}
