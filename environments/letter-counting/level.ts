import { z } from "zod";
import type { LetterCountingConfig } from "./config.ts";
import { TOP_LEVEL } from "./difficulty.ts";

/** What the environment remembers between groups. */
export const levelState = z.strictObject({
  level: z.int().min(1).max(TOP_LEVEL),
  /** Mean scores of the latest groups at this level, oldest first. */
  window: z.array(z.number()),
});

export type LevelState = z.output<typeof levelState>;

type LevelSettings = Pick<LetterCountingConfig, "window" | "too_easy" | "too_hard">;

/** What rounding may add to a mean, so that a window of exactly .8 is not above .8. */
const ROUNDING = 1e-9;

export function startState({ start_level }: Pick<LetterCountingConfig, "start_level">): LevelState {
  return { level: start_level, window: [] };
}

/**
 * The state after a group. Every group counts, also those that are dropped: they are what says that a level is too easy or
 * too hard. Once the window is full, the level moves when the window's mean is above or below the limits, and the window
 * starts again; at the ends of the scale it slides on.
 * @param itemLevel level of the group's item: a group of another level, generated before the level moved, says nothing.
 */
export function nextState(
  state: LevelState,
  groupMean: number,
  settings: LevelSettings,
  itemLevel = state.level,
): LevelState {
  if (itemLevel !== state.level) return state;
  const window = [...state.window, groupMean].slice(-settings.window);
  const mean = window.reduce((sum, value) => sum + value, 0) / window.length;
  const level = window.length < settings.window ? state.level : moved(state.level, mean, settings);
  return level === state.level ? { level, window } : { level, window: [] };
}

function moved(level: number, mean: number, { too_easy, too_hard }: LevelSettings): number {
  switch (levelDropReason(mean, { too_easy, too_hard })) {
    case "too_easy":
      return Math.min(TOP_LEVEL, level + 1);
    case "too_hard":
      return Math.max(1, level - 1);
    case null:
      return level;
  }
}

/** Why a group is dropped, in the words it is counted under, or null. */
export function levelDropReason(
  groupMean: number,
  { too_easy, too_hard }: Pick<LevelSettings, "too_easy" | "too_hard">,
): "too_easy" | "too_hard" | null {
  if (groupMean > too_easy + ROUNDING) return "too_easy";
  return groupMean < too_hard - ROUNDING ? "too_hard" : null;
}

/** The mean of a group's scores; 0 for none. */
export function groupMean(scores: readonly number[]): number {
  return scores.length === 0 ? 0 : scores.reduce((sum, score) => sum + score, 0) / scores.length;
}
