import { expect, it } from "vitest";
import { residentBytesIn } from "./server.ts";

it("adds up a process and all that descend from it", () => {
  const table = "   30    20   8\n   10     1   1\n   20    10   2\n   99     1 500\n";
  expect(residentBytesIn(table, 10)).toBe(11 * 1024);
});
