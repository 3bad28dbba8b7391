import fc from "fast-check";
import { expect, test } from "vitest";
import { type PayloadAddress, ROW_BYTES, rowId } from "../../durable-objects/payloads.ts";
import { windowsOf } from "./windows.ts";

const payload: fc.Arbitrary<PayloadAddress> = fc
  .record({
    shard: fc.nat({ max: 2 }),
    payload: fc.nat({ max: 10_000 }),
    bytes: fc.oneof(
      fc.integer({ min: 1, max: 5_000 }),
      fc.integer({ min: 1, max: 4 * ROW_BYTES }),
      fc.constantFrom(ROW_BYTES - 1, ROW_BYTES, ROW_BYTES + 1, 2 * ROW_BYTES),
    ),
  })
  .map((address) => ({ ...address, rows: Math.ceil(address.bytes / ROW_BYTES) }));

test("windows cover every row once and in order, each in one shard and within a row's length of text", () => {
  fc.assert(
    fc.property(fc.array(payload, { maxLength: 40 }), (payloads) => {
      const rows = payloads.flatMap((address) =>
        Array.from({ length: address.rows }, (_, row) => ({
          shard: address.shard,
          id: rowId(address.payload, row),
          bytes: Math.min(ROW_BYTES, address.bytes - row * ROW_BYTES),
        })),
      );
      let at = 0;
      for (const window of windowsOf(payloads)) {
        const covered = rows.slice(at, at + window.rows.length);
        at += window.rows.length;
        expect(window.rows.length).toBeGreaterThan(0);
        expect(covered.map(({ id }) => id)).toEqual(window.rows);
        expect(new Set(covered.map(({ shard }) => shard))).toEqual(new Set([window.shard]));
        expect(covered.reduce((sum, { bytes }) => sum + bytes, 0)).toBeLessThanOrEqual(ROW_BYTES);
      }
      expect(at).toBe(rows.length);
    }),
    { numRuns: 300 },
  );
});

test("neighbours in one shard share a window until it is full", () => {
  const half = { rows: 1, bytes: ROW_BYTES / 2, shard: 0 };
  const windows = [...windowsOf([1, 2, 3].map((number) => ({ ...half, payload: number })))];
  expect(windows).toEqual([
    { shard: 0, rows: [rowId(1, 0), rowId(2, 0)] },
    { shard: 0, rows: [rowId(3, 0)] },
  ]);
});
