import { z } from "zod";
import type { Envelope } from "../payloads.ts";

/** Which groups a run keeps from its trainers. Field names are the wire's; null filters nothing. */
export const filters = z.object({
  /** Drops groups whose scores are all equal: they teach nothing. */
  equal_scores: z.boolean(),
  /** Drops groups whose mean score is outside: too hard, or too easy. */
  min_mean_score: z.number().nullable(),
  max_mean_score: z.number().nullable(),
  /** Drops groups with a longer sequence, in tokens. */
  max_sequence_length: z.int().min(1).nullable(),
});

export type Filters = z.infer<typeof filters>;

export const NO_FILTERS: Filters = {
  equal_scores: false,
  min_mean_score: null,
  max_mean_score: null,
  max_sequence_length: null,
};

/** Why a group is kept from trainers, or null. */
export function filterReason(
  { equal_scores, min_mean_score, max_mean_score, max_sequence_length }: Filters,
  { scores, longest }: Pick<Envelope, "scores" | "longest">,
): string | null {
  if (equal_scores && scores.min === scores.max) return "equal_scores";
  if (min_mean_score !== null && scores.mean < min_mean_score) return "mean_score_too_low";
  if (max_mean_score !== null && scores.mean > max_mean_score) return "mean_score_too_high";
  if (max_sequence_length !== null && longest > max_sequence_length) return "too_long";
  return null;
}
