import { z } from "zod";
import type { Verdict } from "../payloads.ts";

const verdict: z.ZodType<Verdict> = z.discriminatedUnion("status", [
  z.object({ status: z.literal("received") }),
  z.object({ status: z.literal("buffered"), bufferedSequences: z.int() }),
  z.object({ status: z.literal("larger_than_batch"), sequences: z.int(), batchSize: z.int() }),
  z.object({ status: z.literal("refused_with_request") }),
  z.object({ status: z.literal("lease_is_over"), lease: z.int(), outcome: z.string() }),
  z.object({ status: z.literal("larger_than_lease"), lease: z.int(), sequences: z.int(), allowed: z.int() }),
]);

/** Verdicts of one request, as they were stored. */
export function readVerdicts(json: string): Verdict[] {
  return z.array(verdict).parse(JSON.parse(json));
}

/** Verdicts of several requests, [request][group]. */
export function readCommitVerdicts(json: string): Verdict[][] {
  return z.array(z.array(verdict)).parse(JSON.parse(json));
}
