/** One rollout's completion, as an environment scores it. */
export interface Completion {
  readonly text: string;
  /** Sampled tokens, without the prompt's. */
  readonly tokens: number;
  /** Tokens of its sequence that are trained on (mask other than −100). */
  readonly trainedTokens: number;
  /** Whether it ran into its token budget. */
  readonly truncated: boolean;
}
