/** A reward function failed. The group has no scores then; a failure is never a score of 0. */
export class RewardError extends Error {
  override readonly name = "RewardError";
  readonly reward: string;
  /** Position of the completion in its group; null when the function failed for the group as a whole. */
  readonly completion: number | null;

  constructor(reward: string, completion: number | null, cause: unknown) {
    const where = completion === null ? "" : ` at completion ${completion}`;
    super(`reward function "${reward}" failed${where}: ${cause instanceof Error ? cause.message : String(cause)}`, {
      cause,
    });
    this.reward = reward;
    this.completion = completion;
  }
}
