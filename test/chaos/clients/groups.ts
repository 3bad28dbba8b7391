import type { SentGroup } from "../checker/history.ts";
import { digestOf } from "../digest.ts";
import { MAX_MEAN_SCORE } from "../scene.ts";

export interface GroupOptions {
  /** Unique in the campaign. */
  readonly id: string;
  /** Null for a group that names none. */
  readonly environment: number | null;
  readonly sequences: number;
  /** Of each sequence. */
  readonly tokens: number;
  /** What the server will take for it, if the client knows. */
  readonly policyVersion: number | null;
  /** Whether the group says so itself. */
  readonly saysVersion: boolean;
  /** Whether its scores are such that the run's filters keep it from trainers. */
  readonly isFiltered: boolean;
}

/** Share of an environment's groups that the run's filters drop. */
export const FILTERED_SHARE = 0.04;

/** A group as it is sent, and as the history notes it. */
export function makeGroup(options: GroupOptions): { body: object; sent: SentGroup } {
  const { id, environment, sequences, tokens, policyVersion, saysVersion, isFiltered } = options;
  const ids = Array.from({ length: sequences }, (_, sequence) =>
    Array.from({ length: tokens }, (_, position) => (sequence * tokens + position) % 50_000),
  );
  const body = {
    chaos: id,
    tokens: ids,
    masks: ids,
    scores: ids.map((_, sequence) => (isFiltered ? MAX_MEAN_SCORE + 1 : sequence % 2)),
    env_id: environment,
    ...(saysVersion && policyVersion !== null ? { policy_version: policyVersion } : {}),
  };
  return { body, sent: { id, sequences, policyVersion, isFiltered, digest: digestOf(body) } };
}
