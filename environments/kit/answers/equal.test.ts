import fc from "fast-check";
import { expect, test } from "vitest";
import { answersEqual, numbersEqual } from "./equal.ts";
import { referenceAnswer } from "./reference.ts";

test.each([
  { a: 5, b: 5, equal: true },
  { a: 5, b: 6, equal: false },
  { a: 0, b: 1e-6, equal: true },
  { a: 0, b: 1.1e-6, equal: false },
  { a: 0, b: -0, equal: true },
  { a: 1_000_000, b: 1_000_001, equal: false },
  { a: 5, b: 6, tolerance: 2, equal: false },
  { a: 1e9, b: 1e9 + 1, equal: false },
  { a: 1e9 + 0.5, b: 1e9 + 900, equal: true },
  { a: 1e9 + 0.5, b: 1e9 + 1_100, equal: false },
  { a: 3, b: 3.0000001, equal: true },
  { a: 0.333333, b: 1 / 3, equal: true },
  { a: 0.3333, b: 1 / 3, equal: false },
  { a: 0.3333, b: 1 / 3, tolerance: 1e-3, equal: true },
  { a: 5, b: -5, equal: false },
  { a: Number.NaN, b: Number.NaN, equal: false },
  { a: Number.POSITIVE_INFINITY, b: Number.POSITIVE_INFINITY, equal: false },
  { a: Number.POSITIVE_INFINITY, b: 1, equal: false },
])("$a and $b: $equal", ({ a, b, tolerance, equal }) => {
  expect(numbersEqual(a, b, tolerance)).toBe(equal);
  expect(numbersEqual(b, a, tolerance)).toBe(equal);
});

test("integers are equal if they are the same", () => {
  fc.assert(
    fc.property(fc.maxSafeInteger(), fc.maxSafeInteger(), (a, b) => {
      expect(numbersEqual(a, a)).toBe(true);
      expect(numbersEqual(a, b)).toBe(a === b);
      expect(numbersEqual(a, a - (a > 0 ? 1 : -1))).toBe(false);
    }),
  );
});

test("a number equals itself and, unless both are integers, its close neighbours, and not its double", () => {
  fc.assert(
    fc.property(fc.double({ noNaN: true, noDefaultInfinity: true, min: -1e300, max: 1e300 }), (number) => {
      expect(numbersEqual(number, number)).toBe(true);
      const close = number * (1 + 1e-7);
      const integers = Number.isInteger(number) && Number.isInteger(close);
      expect(numbersEqual(number, close)).toBe(!integers || number === close);
      if (Math.abs(number) > 1e-3) expect(numbersEqual(number, number * 2)).toBe(false);
    }),
  );
});

test.each<[string, string | number, boolean]>([
  ["\\frac{1}{2}", 0.5, true],
  ["0.5", "\\frac{1}{2}", true],
  ["1,000 dollars", "1000", true],
  ["five", 5, false],
  ["5", "five", false],
  ["Blue", "blue", true],
  ["\\text{Blue}.", "blue", true],
  ["blue  sky", " blue sky", true],
  ["green", "blue", false],
  ["", "blue", false],
  ["", 0, false],
])("%j against %j: %s", (given, expected, equal) => {
  expect(answersEqual(given, expected)).toBe(equal);
});

test.each<[string | number, string | number]>([
  ["3 + 2 = 5\n#### 5", "5"],
  ["#### 1,234 ", "1,234"],
  ["#### 1 #### 2", "2"],
  ["so \\boxed{7}", "7"],
  [" blue ", "blue"],
  [7, 7],
])("%j ends in the answer %j", (solution, answer) => {
  expect(referenceAnswer(solution)).toBe(answer);
});
