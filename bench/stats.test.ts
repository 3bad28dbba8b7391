import { describe, expect, it } from "vitest";
import { median, medianRatio } from "./stats.ts";

describe("median", () => {
  it("is the middle value, whatever the order", () => expect(median([9, 1, 5])).toBe(5));
  it("is the mean of the two middle values of an even count", () => expect(median([4, 1, 3, 2])).toBe(2.5));
  it("does not sort as text", () => expect(median([10, 9, 2])).toBe(9));
  it("refuses no values", () => expect(() => median([])).toThrow("no values"));
});

describe("medianRatio", () => {
  it("compares the halves of each round", () => expect(medianRatio([10, 200, 30], [5, 100, 10])).toBe(2));
});
