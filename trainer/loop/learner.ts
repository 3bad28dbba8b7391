/** What a step measured, by name; `reward_mean` (mean score of the batch's sequences) and `loss` are always there. */
export interface Metrics {
  readonly reward_mean: number;
  readonly loss: number;
  readonly [name: string]: number;
}

/** What learns: a policy, its optimizer, and whatever else the next step depends on. */
export interface Learner {
  /** Settings that a checkpoint must have been made with, by name. */
  readonly settings: Readonly<Record<string, string | number>>;
  /**
   * Learns from the groups of one batch; `step` is the policy version afterwards.
   * @throws and is as before, when the groups can't be learned from.
   */
  learn(groups: readonly unknown[], step: number): Metrics | Promise<Metrics>;
  /** All that the next step depends on. */
  save(): Uint8Array;
  /** Goes back to what {@link save} gave. */
  load(saved: Uint8Array): void;
}
