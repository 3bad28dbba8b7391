import { expect, test } from "vitest";
import { difficultyOf, TOP_LEVEL } from "./difficulty.ts";
import { WORDS, wordsOfLength } from "./words.ts";

test("there are many words, each once, in lower case", () => {
  expect(WORDS.length).toBeGreaterThanOrEqual(600);
  expect(new Set(WORDS).size).toBe(WORDS.length);
  expect(WORDS.filter((word) => !/^[a-z]{3,16}$/.test(word))).toEqual([]);
});

test.each(Array.from({ length: TOP_LEVEL }, (_, i) => i + 1))("level %i has enough words of its lengths", (level) => {
  const [least, most] = difficultyOf(level).words;
  const words = wordsOfLength(least, most);
  expect(words.length).toBeGreaterThanOrEqual(30);
  expect(words.every(({ length }) => length >= least && length <= most)).toBe(true);
});

test.each([0, 11, 1.5])("there is no level %d", (level) => {
  expect(() => difficultyOf(level)).toThrow(`level is ${level}; there are levels 1 to 10`);
});
