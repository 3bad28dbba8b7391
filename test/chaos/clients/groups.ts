import type { SentGroup } from "../checker/history.ts";

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
}

/** A group as it is sent, and as the history notes it. */
export function makeGroup({ id, environment, sequences, tokens, policyVersion, saysVersion }: GroupOptions): {
  body: object;
  sent: SentGroup;
} {
  const ids = Array.from({ length: sequences }, (_, sequence) =>
    Array.from({ length: tokens }, (_, position) => (sequence * tokens + position) % 50_000),
  );
  const body = {
    tokens: ids,
    masks: ids,
    scores: ids.map((_, sequence) => sequence % 2),
    env_id: environment,
    chaos: id,
    ...(saysVersion && policyVersion !== null ? { policy_version: policyVersion } : {}),
  };
  return { body, sent: { id, sequences, policyVersion } };
}
