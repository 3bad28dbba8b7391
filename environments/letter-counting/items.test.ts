import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { own } from "./config.ts";
import { evaluationItemAt, itemAt, type LetterCountingItem } from "./items.ts";

const config = { ...own.parse({}), seed: 0 };
const levels = fc.integer({ min: 1, max: 10 });

function items(level: number, count: number, given = config): LetterCountingItem[] {
  return Array.from({ length: count }, (_, index) => itemAt(index, given, { level }));
}

test("every item is the same whenever it is asked for, and its counts are right", () => {
  fc.assert(
    fc.property(fc.nat(), levels, fc.nat(), (index, level, seed) => {
      const item = itemAt(index, { ...config, seed }, { level });
      expect(itemAt(index, { ...config, seed }, { level })).toEqual(item);
      expect(item.level).toBe(level);
      expect(new Set(item.letters).size).toBe(item.letters.length);
      for (const [i, letter] of item.letters.entries()) {
        expect(letter).toMatch(/^[a-z]$/);
        expect(item.counts[i]).toBe([...item.text].filter((other) => other === letter).length);
      }
    }),
  );
});

describe("levels", () => {
  const average = (numbers: number[]) => numbers.reduce((sum, number) => sum + number, 0) / numbers.length;

  test("ask for longer texts up to level 7, and for more letters above", () => {
    const lengths = Array.from({ length: 10 }, (_, i) => average(items(i + 1, 400).map(({ text }) => text.length)));
    for (let i = 1; i < 7; i++) expect(lengths[i]).toBeGreaterThan(lengths[i - 1] ?? 0);
    for (let i = 8; i < 10; i++) expect(lengths[i]).toBeGreaterThan(lengths[i - 1] ?? 0);
    const letters = Array.from({ length: 10 }, (_, i) => items(i + 1, 1)[0]?.letters.length);
    expect(letters).toEqual([1, 1, 1, 1, 1, 1, 1, 2, 3, 4]);
  });

  test("ask mostly for letters that are there, and often for some that recur", () => {
    for (let level = 1; level <= 10; level++) {
      const counts = items(level, 400).flatMap((item) => item.counts);
      const present = counts.filter((count) => count > 0).length / counts.length;
      expect(present).toBeGreaterThan(0.7);
      expect(present).toBeLessThan(0.9);
      if (level >= 6) expect(counts.filter((count) => count > 1).length / counts.length).toBeGreaterThan(0.25);
    }
  });

  test("the share of present letters is a setting", () => {
    expect(items(5, 100, { ...config, present_share: 1 }).every(({ counts }) => (counts[0] ?? 0) > 0)).toBe(true);
    expect(items(5, 100, { ...config, present_share: 0 }).every(({ counts }) => counts[0] === 0)).toBe(true);
  });
});

test("seeds, levels, and training and evaluation have items of their own", () => {
  const text = (list: LetterCountingItem[]) => list.map((item) => item.text + item.letters.join("")).join();
  const evaluation = Array.from({ length: 50 }, (_, index) => evaluationItemAt(index, config, { level: 5 }));
  const series = [items(5, 50), items(5, 50, { ...config, seed: 1 }), items(6, 50), evaluation].map(text);
  expect(new Set(series).size).toBe(4);
});
