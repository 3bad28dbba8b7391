import type { Message } from "../inference/index.ts";
import type { Rollout } from "./rollout.ts";
import { NOT_TRAINED, type PolicySegment, type Sequence } from "./sequence.ts";

export interface GroupScores {
  /** One for each rollout. */
  readonly scores: readonly number[];
  /** For each rollout either one number, for all its sampled positions, or numbers `[sequence][position]`. */
  readonly advantages?: readonly (number | readonly (readonly number[])[])[] | undefined;
  /** For each rollout, what the trainer should treat differently (`set_advantage_to_zero`, for instance). */
  readonly overrides?: readonly Readonly<Record<string, unknown>>[] | undefined;
  readonly groupOverrides?: Readonly<Record<string, unknown>> | undefined;
  /** The id register-env answered with. */
  readonly envId?: number | undefined;
}

/** A group as the wire takes it: lists are `[sequence]…`, a rollout's sequences stand together. */
export interface ScoredGroup {
  tokens: number[][];
  masks: number[][];
  scores: number[];
  inference_logprobs: number[][];
  messages: (readonly Message[])[] | null;
  generation_params: {
    temperature: number;
    max_tokens: number;
    logprobs: string;
    backend: string;
    model: string;
    /** false: some ids are not the sampler's own. */
    exact: boolean;
  };
  /** `[sequence][[version or null, count]]` over all positions; null when no server told. */
  policy_versions: (readonly PolicySegment[])[] | null;
  advantages?: number[][];
  overrides?: Readonly<Record<string, unknown>>[];
  group_overrides?: Readonly<Record<string, unknown>>;
  env_id?: number;
}

/**
 * The wire's group of scored rollouts. Every sequence of a rollout gets the rollout's score, advantage and overrides.
 * @throws RangeError when a list has another length than there are rollouts, or there are none
 */
export function toScoredGroup(rollouts: readonly Rollout[], given: GroupScores): ScoredGroup {
  const [first] = rollouts;
  if (first === undefined) throw new RangeError("a group needs at least one rollout");
  for (const name of ["scores", "advantages", "overrides"] as const) {
    const list = given[name];
    if (list !== undefined && list.length !== rollouts.length) {
      throw new RangeError(`${name} has ${list.length} entries for ${rollouts.length} rollouts`);
    }
  }
  const sequences = rollouts.flatMap((rollout) => rollout.sequences);
  const forEachSequence = <T>(list: readonly T[]): T[] =>
    rollouts.flatMap((rollout, index) => rollout.sequences.flatMap(() => list.slice(index, index + 1)));
  const { advantages, overrides, groupOverrides, envId } = given;
  return {
    tokens: sequences.map(({ tokens }) => tokens),
    masks: sequences.map(({ masks }) => masks),
    scores: forEachSequence(given.scores),
    inference_logprobs: sequences.map(({ logprobs }) => logprobs),
    messages: allMessages(sequences),
    generation_params: generationParams(first, sequences),
    policy_versions: policyVersions(sequences),
    ...(advantages === undefined ? {} : { advantages: positionAdvantages(rollouts, advantages) }),
    ...(overrides === undefined ? {} : { overrides: forEachSequence(overrides) }),
    ...(groupOverrides === undefined ? {} : { group_overrides: groupOverrides }),
    ...(envId === undefined ? {} : { env_id: envId }),
  };
}

function allMessages(sequences: readonly Sequence[]): (readonly Message[])[] | null {
  const lists = sequences.flatMap(({ messages }) => (messages === null ? [] : [messages]));
  return lists.length === sequences.length ? lists : null;
}

function generationParams({ generation }: Rollout, sequences: readonly Sequence[]): ScoredGroup["generation_params"] {
  const { temperature, maxTokens, logprobs, backend, model } = generation;
  const exact = sequences.every((sequence) => sequence.exact);
  return { temperature, max_tokens: maxTokens, logprobs, backend, model, exact };
}

function policyVersions(sequences: readonly Sequence[]): ScoredGroup["policy_versions"] {
  if (sequences.every(({ versions }) => versions === null)) return null;
  return sequences.map(({ versions, tokens }) => versions ?? [[null, tokens.length]]);
}

function positionAdvantages(rollouts: readonly Rollout[], given: NonNullable<GroupScores["advantages"]>): number[][] {
  return rollouts.flatMap(({ sequences }, index) => {
    const advantage = given[index] ?? 0;
    return sequences.map(({ masks }, sequence) => {
      if (typeof advantage === "number") return masks.map((mask) => (mask === NOT_TRAINED ? 0 : advantage));
      const positions = advantage[sequence];
      if (positions?.length === masks.length) return [...positions];
      const found = positions?.length ?? "no";
      throw new RangeError(`advantages[${index}][${sequence}] has ${found} numbers for ${masks.length} tokens`);
    });
  });
}
