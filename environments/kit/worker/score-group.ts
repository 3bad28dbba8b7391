import type { z } from "zod";
import type { BaseConfig } from "../base-config.ts";
import type { Environment } from "../define.ts";
import type { FilterContext, ScoreContext, ScoredRollout } from "../definition.ts";
import { dropReason, sequenceDropReasons } from "../filters.ts";
import type { ConfigOf } from "../read-config.ts";
import { type Rollout, toScoredGroup } from "../trajectory/index.ts";
import { during, Failure } from "./failure.ts";
import { scoresOf } from "./scores.ts";

/** A group after scoring: one to hand in, or dropped and why. */
export type Judged<R> = { readonly kept: readonly R[]; readonly scores: readonly number[] } & (
  | { readonly group: object; readonly sequences: number; readonly reason: null }
  | { readonly group: null; readonly reason: string }
);

interface Kept<R> {
  readonly rollout: R;
  readonly scored: ScoredRollout;
}

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

export interface GroupOptions {
  readonly envId: number;
  /** Rollouts that the group must have; null: as many as it came with. */
  readonly size: number | null;
}

/** Scores a group, drops what the filters drop, and brings it into the wire's form. @throws Failure */
export async function scoreGroup<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  environment: Environment<Own, Item, State, R>,
  base: BaseConfig,
  context: ScoreContext<ConfigOf<Own>, State, Item, R>,
  { envId, size }: GroupOptions,
): Promise<Judged<R>> {
  const { definition } = environment;
  const { rollouts, followUp: _, ...shared } = context;
  const scored = await scoresOf(environment, base, context);
  const judged = rollouts.flatMap((rollout, index): Kept<R>[] => {
    const score = scored[index] ?? null;
    return score === null ? [] : [{ rollout, scored: score }];
  });
  const scores = judged.map(({ scored }) => scored.score);
  const filtering: FilterContext<ConfigOf<Own>, State, Item, R> = {
    ...shared,
    rollouts: judged.map(({ rollout }) => rollout),
    scores,
  };
  const dropped = (reason: string): Judged<R> => ({ kept: filtering.rollouts, scores, group: null, reason });
  if (judged.length === 0) return dropped(rollouts.length === 0 ? "no_rollouts" : "no_scores");
  const own = await during("score", () => expectReason(definition.filter?.(filtering) ?? null));
  if (own !== null) return dropped(own);

  const kept = judged.flatMap((one) => withoutShortSequences(one, base.filters.min_trained_tokens));
  if (kept.length === 0) return dropped("too_few_trained_tokens");
  const group = await during("score", () => toGroup(kept, envId));
  // A rollout that forked has several sequences, so it is rollouts that must be complete.
  const wanted = size ?? rollouts.length;
  const complete = kept.length === wanted || (kept.length < wanted && base.filters.keep_partial);
  const group_size = complete ? group.tokens.length : Number.NaN;
  const { max_token_length, filters } = base;
  const reason = dropReason(group, { ...filters, group_size, max_token_length });
  if (reason !== null) return dropped(reason);
  const finished = await during("score", () =>
    definition.finish === undefined ? group : definition.finish(group, finishContext(filtering, kept)),
  );
  return { kept: filtering.rollouts, scores, group: finished, sequences: group.tokens.length, reason: null };
}

function finishContext<Config, State, Item, R>(
  context: FilterContext<Config, State, Item, R>,
  kept: readonly Kept<R>[],
): FilterContext<Config, State, Item, R> {
  return { ...context, rollouts: kept.map(({ rollout }) => rollout), scores: kept.map(({ scored }) => scored.score) };
}

function expectReason(reason: string | null): string | null {
  if (reason === null || REASON.test(reason)) return reason;
  throw new RangeError(`a reason is one word in snake_case, so that it can be counted, not ${JSON.stringify(reason)}`);
}

/** A rollout keeps its other sequences; without any it is gone, with its score, advantage and overrides. */
function withoutShortSequences<R extends Rollout>({ rollout, scored }: Kept<R>, least: number): Kept<R>[] {
  const reasons = sequenceDropReasons({ masks: rollout.sequences.map(({ masks }) => masks) }, least);
  if (reasons.every((reason) => reason === null)) return [{ rollout, scored }];
  const keeps = <T>(list: readonly T[]) => list.filter((_, index) => reasons[index] === null);
  const sequences = keeps(rollout.sequences);
  if (sequences.length === 0) return [];
  const { advantage } = scored;
  const shortened = typeof advantage === "object" ? { ...scored, advantage: keeps(advantage) } : scored;
  return [{ rollout: { ...rollout, sequences }, scored: shortened }];
}

function toGroup<R extends Rollout>(kept: readonly Kept<R>[], envId: number) {
  const scored = kept.map((one) => one.scored);
  const some = <T>(values: readonly (T | undefined)[], none: T): T[] | undefined =>
    values.every((value) => value === undefined) ? undefined : values.map((value) => value ?? none);
  return toScoredGroup(
    kept.map(({ rollout }) => rollout),
    {
      scores: scored.map(({ score }) => score),
      advantages: expectAllAdvantages(scored),
      overrides: some(
        scored.map(({ overrides }) => overrides),
        {},
      ),
      envId,
    },
  );
}

function expectAllAdvantages(scored: readonly ScoredRollout[]) {
  const given = scored.flatMap(({ advantage }) => (advantage === undefined ? [] : [advantage]));
  if (given.length === 0) return undefined;
  if (given.length === scored.length) return given;
  throw new Failure("score", `score gave ${given.length} advantages for ${scored.length} rollouts; give all or none`);
}
