/** The mask of a position that is not trained on. */
const NOT_TRAINED = -100;

/** What filters look at; a scored group has more. Arrays are `[sequence]` or `[sequence][position]`. */
export interface FilteredGroup {
  readonly tokens: readonly (readonly number[])[];
  readonly masks: readonly (readonly number[])[];
  readonly scores: readonly number[];
  readonly inference_logprobs?: readonly (readonly number[])[] | null | undefined;
}

export interface FilterOptions {
  /** Sequences that a group has. */
  readonly group_size: number;
  /** Tokens of a sequence, prompt included; one that has as many was cut off. */
  readonly max_token_length: number;
  readonly keep_equal_scores?: boolean | undefined;
  /** Keeps groups with a sequence that reached max_token_length. */
  readonly keep_longest?: boolean | undefined;
}

/** Why a group is dropped, in the words it is counted under. An environment's own filters may add theirs. */
export type DropReason = "wrong_token_count" | "too_long" | "equal_scores";

/** Why a sequence is dropped from its group. */
export type SequenceDropReason = "too_few_trained_tokens";

/**
 * The stock rules: a group is dropped when it has another number of sequences than the group size or parts of other lengths
 * than its tokens, when a sequence reached the maximum length, or when all scores are equal, so that nothing can be learned
 * from comparing them (which includes a group of one). Null for a group to keep.
 */
export function dropReason(group: FilteredGroup, options: FilterOptions): DropReason | null {
  const { group_size, max_token_length, keep_equal_scores = false, keep_longest = false } = options;
  if (group.tokens.length !== group_size || !isAligned(group)) return "wrong_token_count";
  if (!keep_longest && group.tokens.some((tokens) => tokens.length >= max_token_length)) return "too_long";
  if (!keep_equal_scores && group.scores.every((score) => score === group.scores[0])) return "equal_scores";
  return null;
}

/** Whether masks, scores and logprobs match the tokens, position by position. */
function isAligned({ tokens, masks, scores, inference_logprobs: logprobs }: FilteredGroup): boolean {
  const fits = (rows: readonly (readonly number[])[]) =>
    rows.length === tokens.length && rows.every((row, sequence) => row.length === tokens[sequence]?.length);
  return scores.length === tokens.length && fits(masks) && (logprobs == null || fits(logprobs));
}

/** Tokens of a sequence that are trained on. */
export function trainedTokens(mask: readonly number[]): number {
  return mask.reduce((count, id) => count + (id === NOT_TRAINED ? 0 : 1), 0);
}

/** For each sequence why it is dropped, or null. A group that loses one falls short of its group size. */
export function sequenceDropReasons(
  { masks }: Pick<FilteredGroup, "masks">,
  minTrainedTokens: number,
): (SequenceDropReason | null)[] {
  return masks.map((mask) => (trainedTokens(mask) < minTrainedTokens ? "too_few_trained_tokens" : null));
}
