import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { Random } from "./random.ts";

const seeds = fc.integer({ min: 0, max: 2 ** 32 - 1 });
const draws = (random: Random, count = 8) => Array.from({ length: count }, () => random.next());

describe("streams", () => {
  test("the same parts give the same numbers, on every machine", () => {
    expect(draws(Random.of("gsm8k", 7), 3)).toEqual(draws(Random.of("gsm8k", 7), 3));
    expect(
      Array.from(
        { length: 6 },
        (
          (random) => () =>
            random.int(0, 999)
        )(Random.of("gsm8k", 7)),
      ),
    ).toMatchInlineSnapshot(`
      [
        355,
        175,
        816,
        180,
        398,
        319,
      ]
    `);
  });

  test.each([
    { name: "another seed", one: new Random(1), other: new Random(2) },
    { name: "another stream", one: new Random(1, "a"), other: new Random(1, "b") },
    { name: "a stream of its own", one: new Random(1), other: new Random(1, 0) },
    { name: "text and number", one: Random.of(1), other: Random.of("1") },
    { name: "parts cut elsewhere", one: Random.of("ab", "c"), other: Random.of("a", "bc") },
    { name: "neighbouring indices", one: Random.of("items", 41), other: Random.of("items", 42) },
  ])("$name gives other numbers", ({ one, other }) => {
    const first = new Set(draws(one, 100));
    expect(draws(other, 100).filter((number) => first.has(number))).toHaveLength(0);
  });

  test("a seed counts modulo 2^32", () => {
    expect(draws(new Random(5))).toEqual(draws(new Random(5 + 2 ** 32)));
  });
});

describe("draws", () => {
  test("next is in [0, 1) and spreads evenly, also over the first draws of many streams", () => {
    const within = Array.from(
      { length: 10_000 },
      (
        (random) => () =>
          random.next()
      )(Random.of("long")),
    );
    const across = Array.from({ length: 10_000 }, (_, index) => Random.of("short", index).next());
    for (const numbers of [within, across]) {
      expect(numbers.every((number) => number >= 0 && number < 1)).toBe(true);
      for (let tenth = 0; tenth < 10; tenth++) {
        const share = numbers.filter((number) => Math.floor(number * 10) === tenth).length / numbers.length;
        expect(share).toBeGreaterThan(0.085);
        expect(share).toBeLessThan(0.115);
      }
    }
  });

  test("int stays in its range, both ends included", () => {
    fc.assert(
      fc.property(seeds, fc.integer({ min: -1000, max: 1000 }), fc.nat(50), (seed, low, span) => {
        const drawn = new Random(seed).int(low, low + span);
        return Number.isInteger(drawn) && drawn >= low && drawn <= low + span;
      }),
    );
    const random = Random.of("dice");
    expect(new Set(Array.from({ length: 200 }, () => random.int(1, 6)))).toEqual(new Set([1, 2, 3, 4, 5, 6]));
  });

  test.each([
    [2, 1],
    [0.5, 3],
    [0, Number.POSITIVE_INFINITY],
    [Number.NaN, 3],
  ])("int refuses %s to %s", (low, high) => {
    expect(() => new Random(1).int(low, high)).toThrow(`from ${low} to ${high}`);
  });

  test("pick gives an item of the list, and refuses an empty one", () => {
    const random = Random.of("pick");
    expect(new Set(Array.from({ length: 100 }, () => random.pick(["a", "b", "c"])))).toEqual(new Set(["a", "b", "c"]));
    expect(() => random.pick([])).toThrow("empty list");
  });

  test("shuffle keeps every item and leaves the list alone", () => {
    fc.assert(
      fc.property(seeds, fc.array(fc.integer()), (seed, list) => {
        const before = [...list];
        const shuffled = new Random(seed).shuffle(list);
        expect(list).toEqual(before);
        expect(shuffled.toSorted()).toEqual(before.toSorted());
      }),
    );
  });

  test("shuffle reaches every order about as often", () => {
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 6_000; seed++) {
      const order = new Random(seed).shuffle(["a", "b", "c"]).join("");
      counts.set(order, (counts.get(order) ?? 0) + 1);
    }
    expect(counts.size).toBe(6);
    for (const count of counts.values()) expect(Math.abs(count - 1_000)).toBeLessThan(130);
  });

  test("normal has mean 0 and deviation 1", () => {
    const random = Random.of("normal");
    const numbers = Array.from({ length: 20_000 }, () => random.normal());
    const mean = numbers.reduce((sum, number) => sum + number, 0) / numbers.length;
    const deviation = Math.sqrt(numbers.reduce((sum, number) => sum + (number - mean) ** 2, 0) / numbers.length);
    expect(Math.abs(mean)).toBeLessThan(0.03);
    expect(Math.abs(deviation - 1)).toBeLessThan(0.03);
    expect(numbers.every(Number.isFinite)).toBe(true);
  });
});
