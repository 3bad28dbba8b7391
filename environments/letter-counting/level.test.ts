import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { own } from "./config.ts";
import { groupMean, levelDropReason, levelState, nextState, startState } from "./level.ts";

const config = own.parse({ window: 3 });

function after(level: number, means: readonly number[]) {
  return means.reduce((state, mean) => nextState(state, mean, config), { level, window: [] as number[] });
}

describe("the level", () => {
  test.each([
    { name: "waits for a full window", level: 5, means: [1, 1], expected: { level: 5, window: [1, 1] } },
    { name: "rises, and the window restarts", level: 5, means: [1, 1, 1], expected: { level: 6, window: [] } },
    { name: "falls, and the window restarts", level: 5, means: [0, 0.1, 0], expected: { level: 4, window: [] } },
    { name: "stays in between", level: 5, means: [1, 0.5, 0], expected: { level: 5, window: [1, 0.5, 0] } },
    { name: "stays at exactly .8", level: 5, means: [0.8, 0.8, 0.8], expected: { level: 5 } },
    { name: "stays at exactly .2", level: 5, means: [0.2, 0.2, 0.2], expected: { level: 5 } },
    { name: "looks at the latest groups alone", level: 5, means: [0, 1, 1, 1], expected: { level: 6, window: [] } },
    { name: "ends at the top", level: 10, means: [1, 1, 1, 1], expected: { level: 10, window: [1, 1, 1] } },
    { name: "ends at the bottom", level: 1, means: [0, 0, 0, 0], expected: { level: 1, window: [0, 0, 0] } },
    { name: "may move again and again", level: 1, means: [1, 1, 1, 1, 1, 1, 1], expected: { level: 3, window: [1] } },
  ])("$name", ({ level, means, expected }) => {
    expect(after(level, means)).toMatchObject(expected);
  });

  test("a group of another level says nothing", () => {
    const state = { level: 4, window: [0.5] };
    expect(nextState(state, 1, config, 3)).toEqual(state);
    expect(nextState(state, 1, config, 4).window).toEqual([0.5, 1]);
  });

  test("any series of groups keeps the state valid, moves one level at a time, and leaves the old state alone", () => {
    fc.assert(
      fc.property(
        fc.array(fc.double({ min: 0, max: 1, noNaN: true })),
        fc.integer({ min: 1, max: 10 }),
        (means, level) => {
          let state = startState({ start_level: level });
          for (const mean of means) {
            const before = structuredClone(state);
            const next = nextState(state, mean, config);
            expect(state).toEqual(before);
            expect(levelState.parse(JSON.parse(JSON.stringify(next)))).toEqual(next);
            expect(Math.abs(next.level - state.level)).toBeLessThanOrEqual(1);
            expect(next.window.length).toBeLessThanOrEqual(3);
            state = next;
          }
        },
      ),
    );
  });

  test("the stock window has 150 groups", () => {
    const stock = own.parse({});
    let state = startState(stock);
    for (let i = 0; i < 149; i++) state = nextState(state, 1, stock);
    expect(state.level).toBe(1);
    expect(nextState(state, 1, stock)).toEqual({ level: 2, window: [] });
  });
});

describe("a group", () => {
  test.each([
    { scores: [1, 1, 1, 1], reason: "too_easy" },
    { scores: [1, 1, 1, 1, 0], reason: null },
    { scores: [1, 0], reason: null },
    { scores: [1, 0, 0, 0, 0], reason: null },
    { scores: [1, 0, 0, 0, 0, 0], reason: "too_hard" },
    { scores: [0, 0], reason: "too_hard" },
    { scores: [], reason: "too_hard" },
  ])("with scores $scores: $reason", ({ scores, reason }) => {
    expect(levelDropReason(groupMean(scores), config)).toBe(reason);
  });
});

test.each([{ level: 0, window: [] }, { level: 11, window: [] }, { level: 1 }, { level: 1, window: ["1"] }, null])(
  "%j is no state",
  (state) => {
    expect(levelState.safeParse(state).success).toBe(false);
  },
);
