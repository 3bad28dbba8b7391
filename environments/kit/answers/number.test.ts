import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseNumber } from "./number.ts";

test.each<[string, number]>([
  ["42", 42],
  ["  42 ", 42],
  ["42.", 42],
  ["-7", -7],
  ["+7", 7],
  ["− 7", -7],
  ["–7", -7],
  ["0", 0],
  ["007", 7],
  ["3.14", 3.14],
  [".5", 0.5],
  ["-.5", -0.5],
  ["5.0", 5],
  ["1,234", 1234],
  ["1,234.5", 1234.5],
  ["-1,234,567.89", -1234567.89],
  ["1{,}234", 1234],
  ["1,\\!234", 1234],
  ["12\\,345\\,678", 12345678],
  ["1\\!234", 1234],
  ["$5", 5],
  ["\\$1,250.75", 1250.75],
  ["-$5", -5],
  ["$-5", -5],
  ["€ 12", 12],
  ["£3.50", 3.5],
  ["$42$", 42],
  ["\\(42\\)", 42],
  ["\\[ 42 \\]", 42],
  ["50%", 50],
  ["12.5\\%", 12.5],
  ["3/4", 0.75],
  ["-3/4", -0.75],
  ["3 / 4", 0.75],
  ["3/-4", -0.75],
  ["2 1/2", 2.5],
  ["-2 1/2", -2.5],
  ["1,000/8", 125],
  ["\\frac{3}{4}", 0.75],
  ["\\dfrac{3}{4}", 0.75],
  ["\\tfrac{3}{4}", 0.75],
  ["\\cfrac{3}{4}", 0.75],
  ["-\\frac{3}{4}", -0.75],
  ["\\frac{-3}{4}", -0.75],
  ["\\frac{ 3 }{ 4 }", 0.75],
  ["\\frac34", 0.75],
  ["2\\frac{1}{2}", 2.5],
  ["2 \\frac12", 2.5],
  ["\\frac{1,000}{8}", 125],
  ["1e3", 1000],
  ["1.5E-3", 0.0015],
  ["-2e+2", -200],
  ["3 \\times 10^{4}", 30000],
  ["3\\times10^4", 30000],
  ["3 \\cdot 10^{-2}", 0.03],
  ["3 × 10^2", 300],
  ["3*10^2", 300],
  ["3 million", 3e6],
  ["1.5 billion dollars", 1.5e9],
  ["2 hundred", 200],
  ["12 apples", 12],
  ["12 red apples", 12],
  ["12apples", 12],
  ["12 apples.", 12],
  ["5 km/h", 5],
  ["60 miles per hour", 60],
  ["5 cm^2", 5],
  ["5 \\text{ cm}^2", 5],
  ["5\\,\\text{cm}", 5],
  ["5 m²", 5],
  ["5m", 5],
  ["3/4 cup", 0.75],
  ["\\frac{1}{2} \\text{ hour}", 0.5],
  ["\\text{42}", 42],
  ["\\text{42 dollars}", 42],
  ["\\mathbf{42}", 42],
  ["\\boxed{42}", 42],
  ["90^\\circ", 90],
  ["90^{\\circ}", 90],
  ["90°", 90],
  ["x = 5", 5],
  ["3 + 2 = 5", 5],
  ["**42**", 42],
  ["`42`", 42],
  ["{42}", 42],
  ["\\left 42 \\right", 42],
  ["1e300", 1e300],
])("%j is %d", (text, value) => {
  expect(parseNumber(text)).toBeCloseTo(value, 12);
});

test.each([
  "",
  " ",
  ".",
  "-",
  "-$",
  "/",
  "x",
  "5x",
  "5 pi",
  "2\\pi",
  "5!",
  "5^2",
  "2\\sqrt{3}",
  "5 to 6",
  "5-6",
  "3, 4",
  "1,23",
  "1,2345",
  "1,234,56",
  "1.234,5",
  "1.2.3",
  "12:30",
  "3/0",
  "3/",
  "/3",
  "1/2/3",
  "\\frac{1}{0}",
  "\\frac{1}{x}",
  "\\frac{1}",
  "\\frac{}{}",
  "1e999",
  "NaN",
  "Infinity",
  "-Infinity",
  "0x10",
  "five",
  "The answer is 42",
  "1 2",
  "=",
  "5 =",
  "{",
  "}{",
  "\u0000",
])("%j is no number", (text) => {
  expect(parseNumber(text)).toBeNull();
});

describe("odd texts", () => {
  test("anything may come in", () => {
    const pieces = fc.constantFrom(
      ..."0123456789.,-/\\{}()=^*$%eE x\n".split(""),
      "\\frac",
      "\\text{",
      "\\times",
      "million",
    );
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(pieces, { maxLength: 60 }).map((list) => list.join("")),
        ),
        (text) => {
          const value = parseNumber(text);
          expect(value === null || Number.isFinite(value)).toBe(true);
        },
      ),
      { numRuns: 2_000 },
    );
  });

  test.each([
    ["letters after a number", `5 ${"a".repeat(390)}!`],
    ["words after a number", `5 ${"ab ".repeat(130)}!`],
    ["units with powers", `5 cm${"^2".repeat(180)}!`],
    ["thousands", `${"1,111".repeat(79)}!`],
    ["spaces", `5${" ".repeat(390)}!`],
    ["equals signs", "=".repeat(400)],
    ["braces", "{".repeat(400)],
    ["text marks", "\\text{".repeat(66)],
    ["a megabyte of digits", "1".repeat(1_000_000)],
    ["a megabyte of slashes", "1/".repeat(500_000)],
  ])("%s cost no time", (_, text) => {
    // Backtracking would take minutes, beyond the time that a test has.
    expect(parseNumber(text)).toBeNull();
  });

  test("whole numbers come back as written", () => {
    fc.assert(
      fc.property(fc.integer(), (number) => {
        expect(parseNumber(String(number))).toBe(number);
        expect(parseNumber(number.toLocaleString("en-US"))).toBe(number);
        expect(parseNumber(`\\$${number}.`)).toBe(number);
      }),
    );
  });
});
