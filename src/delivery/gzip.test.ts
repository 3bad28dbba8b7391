import { gunzipSync } from "node:zlib";
import fc from "fast-check";
import { expect, test } from "vitest";
import { concatenate } from "../wire/body.ts";
import { GzipMember } from "./gzip.ts";

test("whatever the pieces, they are one gzip member of their concatenation", () => {
  const piece = fc.oneof(
    fc.uint8Array({ maxLength: 300 }),
    fc.tuple(fc.uint8Array({ minLength: 1, maxLength: 30 }), fc.nat({ max: 5_000 })).map(([part, times]) => {
      return concatenate(Array.from({ length: times }, () => part));
    }),
  );
  fc.assert(
    fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
      const member = new GzipMember();
      const parts = [member.header(), ...pieces.map((part) => member.segment(part)), member.trailer()];
      expect(Buffer.compare(gunzipSync(concatenate(parts)), concatenate(pieces))).toBe(0);
    }),
    { numRuns: 150 },
  );
});
