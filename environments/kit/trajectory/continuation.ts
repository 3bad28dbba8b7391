/** Whether a chat that was rendered anew continues the ids so far. Pure. */

/** The last turn of an open sequence. */
export interface LastTurn {
  /** The rendering its prompt came from, which is not the prompt itself where an end token was mended. */
  readonly rendering: readonly number[];
  readonly sampled: readonly number[];
  /** The end-of-sequence token the sampler emitted, which is then the last of `sampled`; null if it emitted none. */
  readonly end: number | null;
}

export type Continuation =
  /** What follows the sampled ids. */
  | { readonly kind: "extends"; readonly suffix: number[] }
  /**
   * As "extends", but the suffix begins with the end token that was sampled already: the template may have doubled it, or it
   * may be the next message's own. {@link repeatsEnd} tells.
   */
  | { readonly kind: "repeats-end"; readonly suffix: number[] }
  | { readonly kind: "fork" };

/**
 * Compares with the previous rendering plus the sampled ids, with or without the end token: templates render the end of an
 * assistant's turn whether or not it was sampled, and some leave it out. The ids sent so far always stay as they are; only
 * what comes after them is taken from the rendering.
 * @param endTokens other tokens that end a turn (Llama's <|eot_id|> where <|eom_id|> was sampled, for instance)
 */
export function continuation(
  rendering: readonly number[],
  { rendering: before, sampled, end }: LastTurn,
  endTokens: ReadonlySet<number> = new Set(),
): Continuation {
  if (!holdsAt(rendering, before, 0)) return { kind: "fork" };
  if (holdsAt(rendering, sampled, before.length)) {
    const suffix = rendering.slice(before.length + sampled.length);
    return { kind: end !== null && suffix[0] === end ? "repeats-end" : "extends", suffix };
  }
  if (end === null || !holdsAt(rendering, sampled.slice(0, -1), before.length)) return { kind: "fork" };
  const suffix = rendering.slice(before.length + sampled.length - 1);
  // The template ends the turn with another token: one end is enough, and the sampled one stays.
  const otherEnd = suffix[0] !== undefined && endTokens.has(suffix[0]);
  return { kind: "extends", suffix: otherEnd ? suffix.slice(1) : suffix };
}

/**
 * Whether the template writes the sampled end token a second time.
 * @param turnOnly the chat up to the assistant's turn and no further, without a generation prompt: what comes after the
 * sampled ids there can't belong to a next message
 */
export function repeatsEnd(turnOnly: readonly number[], { rendering, sampled, end }: LastTurn): boolean {
  const after = rendering.length + sampled.length;
  return end !== null && turnOnly[after] === end && holdsAt(turnOnly, sampled, rendering.length);
}

function holdsAt(whole: readonly number[], part: readonly number[], offset: number): boolean {
  if (whole.length < offset + part.length) return false;
  for (let index = 0; index < part.length; index++) if (whole[offset + index] !== part[index]) return false;
  return true;
}
