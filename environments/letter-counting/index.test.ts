import { expect, test } from "vitest";
import { trial } from "../kit/testing.ts";
import { environment } from "./environment.ts";
import { itemAt } from "./items.ts";
import { startState } from "./level.ts";

const { config } = environment.readConfig({});
const right = (index: number) => `<answer>${itemAt(index, config, startState(config)).counts[0]}</answer>`;

test("a group is generated, scored and handed in, and its mean is remembered", async () => {
  const { groups, ends, state } = await trial(environment, {
    answer: ({ index }) => (index < 4 ? right(0) : "<answer>99</answer>"),
  });
  expect(ends).toEqual(["submitted"]);
  expect(groups.map(({ scores }) => scores)).toEqual([[1, 1, 1, 1, 0, 0, 0, 0]]);
  expect(state).toEqual({ level: 1, window: [0.5] });
});

test.each([
  { name: "too easy", answer: right(0), reason: "too_easy", window: [1] },
  { name: "too hard", answer: "I can't count", reason: "too_hard", window: [0] },
])("a group that is $name is dropped, and counts for the level", async ({ answer, reason, window }) => {
  const { ends, state } = await trial(environment, { answer: () => answer });
  expect(ends).toEqual([`skipped: ${reason}`]);
  expect(state).toEqual({ level: 1, window });
});

test("the level rises once the window is full, and the next items are of it", async () => {
  const level = (prompt: string) => /occur in "(\w+)"/.exec(prompt)?.[1]?.length ?? 0;
  const texts: number[] = [];
  const { state } = await trial(environment, {
    items: 4,
    config: { window: 2, start_level: 3 },
    answer: ({ prompt, index }) => {
      if (index === 0) texts.push(level(prompt));
      const [, letter = "", text = ""] = /letter "(\w)" occur in "(\w+)"/.exec(prompt) ?? [];
      return `<answer>${text.split(letter).length - 1}</answer>`;
    },
  });
  expect(state).toEqual({ level: 5, window: [] });
  expect(texts.slice(0, 2).every((length) => length <= 8)).toBe(true);
  expect(texts.slice(2).every((length) => length >= 7)).toBe(true);
});

test("a state of another shape is told, and is not overwritten", async () => {
  const { ends, state, leases } = await trial(environment, { state: { level: 11 } });
  expect(ends).toEqual(["failed: state"]);
  expect(leases[0]?.failures[0]?.message).toContain("doesn't fit the schema");
  expect(state).toEqual({ level: 11 });
});

test("a tiny policy answers with the number alone", async () => {
  const { groups } = await trial(environment, {
    preset: "tiny",
    answer: ({ index }) => (index === 0 ? `${itemAt(0, config, startState(config)).counts[0]}` : "9"),
    config: { too_hard: 0 },
  });
  expect(groups[0]?.scores).toEqual([1, 0, 0, 0, 0, 0, 0, 0]);
});
