export interface RunStatus {
  readonly run: string;
  readonly step: number;
  /** The step at which the run ends; null for none. */
  readonly steps: number | null;
  /** Mean reward of the first and of the last steps; null while nobody reports it. */
  readonly rewards: { readonly first: number; readonly last: number } | null;
  /** Queued. */
  readonly groups: number;
  /** Heard from lately. */
  readonly environments: number;
  readonly groupsPerSecond: number;
  /** Why no batch is ready. */
  readonly reason: string;
}

/** The line: where the run stands, whether it learns, then why no batch is ready, which may be cut off by a terminal. */
export function statusText(status: RunStatus): string {
  const { run, step, steps, rewards, groups, environments, groupsPerSecond, reason } = status;
  const rate = groupsPerSecond < 10 ? groupsPerSecond.toFixed(1) : groupsPerSecond.toFixed(0);
  return [
    `${run}: step ${step}${steps === null ? "" : `/${steps}`}`,
    ...(rewards === null ? [] : [`reward ${signed(rewards.first)} → ${signed(rewards.last)}`]),
    `queue ${groups} group${groups === 1 ? "" : "s"}`,
    `${environments} environment${environments === 1 ? "" : "s"}`,
    `${rate} groups/s`,
    reason,
  ].join(" | ");
}

function signed(reward: number): string {
  const text = reward.toFixed(2);
  return text === "-0.00" ? "0.00" : text;
}
