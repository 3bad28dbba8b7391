import { type Completion, type FinishReason, type Message, NO_LOGPROB } from "../inference/index.ts";

/** Mask of a position that isn't trained on (the stock rule). */
export const NOT_TRAINED = -100;

/** Positions of one policy version in a row; null: not sampled, or by a server that doesn't tell. */
export type PolicySegment = readonly [version: number | null, count: number];

/** One training sequence. The lists have a value for each position. */
export interface Sequence {
  readonly tokens: number[];
  /** The token itself where it was sampled, else {@link NOT_TRAINED}. */
  readonly masks: number[];
  /** As the server said where sampled, else 1 (the stock rule). */
  readonly logprobs: number[];
  /** The chat up to its last sampled turn; null where there is none. */
  readonly messages: readonly Message[] | null;
  /** Over all positions, counts sum to their number; null when no server told. */
  readonly versions: readonly PolicySegment[] | null;
  /** Of its last turn. */
  readonly finishReason: FinishReason;
  /** Whether any of its turns was cut off by length. */
  readonly truncated: boolean;
  /** Whether every sampled id and logprob comes from the server that sampled it. */
  readonly exact: boolean;
}

/** Positions that are trained on. */
export function trainedTokens({ masks }: Sequence): number {
  return masks.reduce((count, mask) => (mask === NOT_TRAINED ? count : count + 1), 0);
}

/** A sequence that grows turn by turn. */
export class SequenceBuilder {
  readonly #tokens: number[] = [];
  readonly #masks: number[] = [];
  readonly #logprobs: number[] = [];
  readonly #versions: [version: number | null, count: number][] = [];
  #finishReason: FinishReason = "other";
  #truncated = false;
  #exact = true;
  #told = false;

  /** All ids so far. */
  get tokens(): readonly number[] {
    return this.#tokens;
  }

  /** Adds ids that the sampler was given. */
  addPrompt(ids: readonly number[]): void {
    for (const id of ids) this.#push(id, NOT_TRAINED, NO_LOGPROB);
    this.#addVersion(null, ids.length);
  }

  /**
   * Adds what was sampled after all ids so far.
   * @throws Error when ids and logprobs differ in length: the sequence would go out of line for good
   */
  addSampled({ tokens, logprobs, versions, finishReason, exact }: Completion): void {
    if (tokens.length !== logprobs.length) {
      throw new Error(`a completion has ${tokens.length} tokens but ${logprobs.length} logprobs`);
    }
    tokens.forEach((id, index) => {
      this.#push(id, id, logprobs[index] ?? NO_LOGPROB);
    });
    for (const [version, count] of versions ?? [[null, tokens.length]]) this.#addVersion(version, count);
    this.#told ||= versions !== null;
    this.#finishReason = finishReason;
    this.#truncated ||= finishReason === "length";
    this.#exact &&= exact;
  }

  build(messages: readonly Message[] | null): Sequence {
    return {
      tokens: [...this.#tokens],
      masks: [...this.#masks],
      logprobs: [...this.#logprobs],
      messages,
      versions: this.#told ? this.#versions.map(([version, count]) => [version, count]) : null,
      finishReason: this.#finishReason,
      truncated: this.#truncated,
      exact: this.#exact,
    };
  }

  #push(id: number, mask: number, logprob: number): void {
    this.#tokens.push(id);
    this.#masks.push(mask);
    this.#logprobs.push(logprob);
  }

  #addVersion(version: number | null, count: number): void {
    if (count === 0) return;
    const last = this.#versions.at(-1);
    if (last?.[0] === version) last[1] += count;
    else this.#versions.push([version, count]);
  }
}
