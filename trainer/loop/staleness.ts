import { z } from "zod";
import { mean } from "./events.ts";

/** Where a group may say which policy versions it was sampled with. */
const versioned = z.object({
  policy_version: z.int().nullish().catch(null),
  /** `[sequence]` lists of [version or null, positions]. */
  policy_versions: z
    .array(z.array(z.tuple([z.int().nullable(), z.int().min(0)])))
    .nullish()
    .catch(null),
});

/**
 * By how many steps a batch lies behind a policy version: the mean over its groups, of a group that names several versions the
 * mean over its sampled positions. Null when no group says its version.
 */
export function stalenessOf(groups: readonly unknown[], version: number): number | null {
  return mean(
    groups.flatMap((group) => {
      const own = versionOf(group);
      return own === null ? [] : [version - own];
    }),
  );
}

function versionOf(group: unknown): number | null {
  const { data } = versioned.safeParse(group);
  if (data === undefined) return null;
  let [sum, positions] = [0, 0];
  for (const [version, count] of data.policy_versions?.flat() ?? []) {
    if (version === null) continue;
    sum += version * count;
    positions += count;
  }
  return positions > 0 ? sum / positions : (data.policy_version ?? null);
}
