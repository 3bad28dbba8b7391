import { expect, test } from "vitest";
import { cronMatcher } from "./cron-expression.ts";

test.each([
  ["* * * * *", "2026-03-04T05:06:00Z", true],
  ["*/2 * * * *", "2026-03-04T05:06:00Z", true],
  ["*/2 * * * *", "2026-03-04T05:07:00Z", false],
  ["6 5 * * *", "2026-03-04T05:06:30Z", true],
  ["6 5 * * *", "2026-03-04T06:06:00Z", false],
  ["0-10/3,59 * * * *", "2026-03-04T05:09:00Z", true],
  ["0-10/3,59 * * * *", "2026-03-04T05:10:00Z", false],
  ["0-10/3,59 * * * *", "2026-03-04T05:59:00Z", true],
  // Cloudflare counts days of the week from 1, Sunday; the 4th of March 2026 is a Wednesday.
  ["* * * * 4", "2026-03-04T05:06:00Z", true],
  ["* * * * 3", "2026-03-04T05:06:00Z", false],
  ["* * 4 3 *", "2026-03-04T05:06:00Z", true],
  ["* * 5 3 *", "2026-03-04T05:06:00Z", false],
])("%s at %s: %s", (expression, date, matches) => {
  expect(cronMatcher(expression)(new Date(date))).toBe(matches);
});

test.each([
  ["* * * *", "five fields"],
  ["60 * * * *", 'minute "60"'],
  ["* 5-2 * * *", 'hour "5-2"'],
  ["* * * * MON", 'day of week "MON"'],
  ["*/0 * * * *", 'minute "*/0"'],
])("%s is refused, naming %s", (expression, what) => {
  expect(() => cronMatcher(expression)).toThrow(what);
});
