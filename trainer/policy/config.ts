import { z } from "zod";

const size = (min: number, max: number) => z.int().min(min).max(max);

/** The shape of the transformer. */
export const modelConfig = z
  .strictObject({
    /** Numbers a position carries between the layers. */
    width: size(2, 512).default(32),
    heads: size(1, 16).default(4),
    layers: size(1, 8).default(2),
    /** Width inside the feed-forward part. */
    hidden: size(1, 2048).default(64),
    /** Tokens that a prompt and its completion have at most. */
    maxLength: size(8, 65536).default(1024),
  })
  .refine(({ width, heads }) => width % heads === 0, {
    error: "width must be a multiple of heads",
    path: ["width"],
  });

export type ModelConfig = z.infer<typeof modelConfig>;
export type ModelOptions = z.input<typeof modelConfig>;
