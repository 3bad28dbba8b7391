import { z } from "zod";
import type { Verdict } from "../payloads.ts";

const maybeRepeated = { repeated: z.literal(true).exactOptional() };

const verdict: z.ZodType<Verdict> = z.discriminatedUnion("status", [
  z.object({ status: z.literal("received"), ...maybeRepeated }),
  z.object({ status: z.literal("buffered"), bufferedSequences: z.int(), ...maybeRepeated }),
  z.object({ status: z.literal("filtered"), reason: z.string(), ...maybeRepeated }),
  z.object({ status: z.literal("queue_full"), message: z.string() }),
  z.object({ status: z.literal("disk_full") }),
  z.object({ status: z.literal("larger_than_batch"), sequences: z.int(), batchSize: z.int() }),
  z.object({ status: z.literal("fork_is_over") }),
  z.object({ status: z.literal("refused_with_request") }),
  z.object({ status: z.literal("key_reused"), groups: z.int() }),
  z.object({ status: z.literal("lease_is_over"), lease: z.int(), outcome: z.string() }),
  z.object({ status: z.literal("larger_than_lease"), lease: z.int(), sequences: z.int(), allowed: z.int() }),
]);

/** The verdicts of a request that comes again: those of the first time. */
export function repeated(verdicts: readonly Verdict[]): Verdict[] {
  return verdicts.map((verdict): Verdict => {
    return verdict.status === "received" || verdict.status === "buffered" || verdict.status === "filtered"
      ? { ...verdict, repeated: true }
      : verdict;
  });
}

/** Verdicts of one request, as they were stored. */
export function readVerdicts(json: string): Verdict[] {
  return z.array(verdict).parse(JSON.parse(json));
}

/** Verdicts of several requests, [request][group]. */
export function readCommitVerdicts(json: string): Verdict[][] {
  return z.array(z.array(verdict)).parse(JSON.parse(json));
}
