import fc from "fast-check";
import { expect, test } from "vitest";
import { decodeRow, encodeRow } from "./row-codec.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);

test("what is decoded is what was encoded, never longer when stored", () => {
  const row = fc
    .tuple(fc.string({ unit: "binary", maxLength: 200 }), fc.nat({ max: 400 }))
    .map(([text, times]) => utf8(text.repeat(times)));
  fc.assert(
    fc.property(row, (text) => {
      const stored = encodeRow(text);
      expect(stored.length).toBeLessThanOrEqual(text.length);
      expect(Buffer.compare(decodeRow(stored), text)).toBe(0);
    }),
    { numRuns: 200 },
  );
});

test("a long row of token ids shrinks, a short one is stored as it is, and neither is a view of the text", () => {
  const long = utf8(JSON.stringify(Array.from({ length: 20_000 }, (_, at) => (at * 7_919) % 32_000)));
  expect(encodeRow(long).length).toBeLessThan(long.length / 2);
  const short = utf8("[[1,2,3]]");
  const stored = encodeRow(short);
  short.fill(0);
  expect(new TextDecoder().decode(decodeRow(stored))).toBe("[[1,2,3]]");
});
