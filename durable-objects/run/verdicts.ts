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
  z.object({ status: z.literal("contents_wanted") }),
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

/** Which verdict it is, and how many sequences are buffered if it is one of a buffered group. */
const place = z.union([z.int().nonnegative(), z.tuple([z.int().nonnegative(), z.int()])]);

/** Verdicts of several requests as they are stored: each different one once, and for each [request][group] which it is. */
const packed = z.object({ verdicts: z.array(verdict), requests: z.array(z.array(place)) });

/**
 * The text under which verdicts of several requests are stored. Those of the 65,536 groups that a commit has at most fit a
 * row of 2 MB: most are alike but for the sequences that are buffered, which stand apart; the others differ by the size of
 * their group, of which a body holds few.
 */
export function writeCommitVerdicts(answers: readonly (readonly Verdict[])[]): string {
  const numbers = new Map<string, number>();
  const requests = answers.map((verdicts) =>
    verdicts.map((verdict): z.infer<typeof place> => {
      const isBuffered = verdict.status === "buffered";
      const text = JSON.stringify(isBuffered ? { ...verdict, bufferedSequences: 0 } : verdict);
      const number = numbers.get(text) ?? numbers.size;
      numbers.set(text, number);
      return isBuffered ? [number, verdict.bufferedSequences] : number;
    }),
  );
  return `{"verdicts":[${[...numbers.keys()].join(",")}],"requests":${JSON.stringify(requests)}}`;
}

/** The text under which those of one request are stored. */
export function writeVerdicts(verdicts: readonly Verdict[]): string {
  return writeCommitVerdicts([verdicts]);
}

/** Verdicts of one request, as they were stored. */
export function readVerdicts(json: string): Verdict[] {
  const stored: unknown = JSON.parse(json);
  // As earlier releases stored them.
  if (Array.isArray(stored)) return z.array(verdict).parse(stored);
  return unpack(stored).flat();
}

/** Verdicts of several requests, [request][group]. */
export function readCommitVerdicts(json: string): Verdict[][] {
  const stored: unknown = JSON.parse(json);
  return Array.isArray(stored) ? z.array(z.array(verdict)).parse(stored) : unpack(stored);
}

function unpack(stored: unknown): Verdict[][] {
  const { verdicts, requests } = packed.parse(stored);
  return requests.map((request) =>
    request.flatMap((stored) => {
      const [number, bufferedSequences] = typeof stored === "number" ? [stored, 0] : stored;
      const verdict = verdicts[number];
      if (verdict === undefined) return [];
      return verdict.status === "buffered" ? { ...verdict, bufferedSequences } : verdict;
    }),
  );
}
