import { z } from "zod";

/** The setting of every environment that looks for answers in what a model may have thought about first. */
export const thinkingOpened = z
  .boolean()
  .default(false)
  .describe("whether the chat template ends inside a thinking block, so that an answer without </think> is none");
