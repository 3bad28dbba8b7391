import { createHash } from "node:crypto";
import { z } from "zod";

/** What of a group a trainer learns from. */
export const contents = z.looseObject({
  chaos: z.string(),
  tokens: z.array(z.array(z.int())),
  masks: z.array(z.array(z.int())),
  scores: z.array(z.number()),
});

/** Tells contents apart that differ anywhere. */
export function digestOf({ tokens, masks, scores }: z.infer<typeof contents>): string {
  return createHash("sha1")
    .update(JSON.stringify([tokens, masks, scores]))
    .digest("base64");
}
