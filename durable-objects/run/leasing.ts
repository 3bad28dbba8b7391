import { z } from "zod";
import { MAX_BATCH_SIZE } from "./registration.ts";

/** How an environment draws rollout leases. */
export const leasing = z.object({
  /** Sequences one lease may bring at most. */
  leaseSequences: z.int().min(1).max(MAX_BATCH_SIZE),
  leaseSeconds: z.int().min(1),
  /** Steps between evaluations; 0 for none. */
  stepsPerEval: z.int().min(0),
  /** What an evaluation does to the environment's training meanwhile: stop it, limit it, or nothing. */
  evaluationHandling: z.enum(["stop", "limit", "none"]),
  /** With "limit": the share of the admission bound that is left to training. */
  evaluationLimit: z.number().min(0).max(1),
});

export type Leasing = z.infer<typeof leasing>;

export const DEFAULT_LEASING: Leasing = {
  leaseSequences: 1,
  leaseSeconds: 600,
  stepsPerEval: 0,
  evaluationHandling: "stop",
  evaluationLimit: 0.5,
};
