import { expect, test } from "vitest";
import { statusText } from "./status-line.ts";

test.each([
  [0.5, "0.5 groups/s"],
  [9.96, "10.0 groups/s"],
  [1234.5, "1235 groups/s"],
])("%d groups a second read %s", (rate, words) => {
  expect(statusText("default", 3, 2, 8, 1, rate, "4 sequences are missing")).toBe(
    `default: step 3 | queue 2 groups, 8 sequences | 1 environments | ${words} | 4 sequences are missing`,
  );
});
