import { z } from "zod";
import { runName } from "../../../src/wire/names.ts";
import { rolloutLease } from "../../../src/wire/rollouts.ts";

/** What a message of the environment's queue holds: which lease to work on. Never trajectories: a message has 128 KB. */
export const descriptor = z.object({ run: runName, lease: rolloutLease });
export type Descriptor = z.infer<typeof descriptor>;
