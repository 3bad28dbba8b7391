import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assemble } from "./assemble.ts";
import { explain } from "./explain.ts";
import { allValidBatches, groupsOf, indexOf, smallQueues } from "./testing.ts";

describe("explain", () => {
  it("says ready", () => {
    expect(explain(indexOf(groupsOf(1, [4, 2])), { batchSize: 6, floors: new Map() })).toEqual({ reason: "ready" });
  });

  it("says how many sequences are missing", () => {
    expect(explain(indexOf(groupsOf(1, [4, 2])), { batchSize: 8, floors: new Map([[2, 4]]) })).toEqual({
      reason: "too_few_sequences",
      queued_sequences: 6,
      batch_size: 8,
      missing_sequences: 2,
    });
  });

  it("names the environments below their floor, and only those", () => {
    const index = indexOf([...groupsOf(1, [4, 4]), ...groupsOf(2, [1], 2)]);
    const floors = new Map([
      [1, 2],
      [2, 3],
      [3, 1],
    ]);
    expect(explain(index, { batchSize: 8, floors })).toEqual({
      reason: "floor_unmet",
      floors: [
        { environment: 2, floor_sequences: 3, queued_sequences: 1, missing_sequences: 2 },
        { environment: 3, floor_sequences: 1, queued_sequences: 0, missing_sequences: 1 },
      ],
    });
  });

  it("shows the sizes that do not add up, oversized ones too", () => {
    expect(explain(indexOf(groupsOf(1, [4, 9, 4])), { batchSize: 6, floors: new Map() })).toEqual({
      reason: "sizes_do_not_add_up",
      batch_size: 6,
      sizes: [
        { size: 4, groups: 2 },
        { size: 9, groups: 1 },
      ],
      largest_sum: 4,
      floors: [],
    });
  });

  it("blames the floors when the sizes alone would do", () => {
    const index = indexOf([...groupsOf(1, [3, 3]), ...groupsOf(2, [4, 4], 2)]);
    expect(explain(index, { batchSize: 8, floors: new Map([[1, 1]]) })).toMatchObject({
      reason: "sizes_do_not_add_up",
      largest_sum: 7,
      floors: [{ environment: 1, floor_sequences: 1, queued_sequences: 6 }],
    });
  });

  it("has no largest sum when no selection meets the floors", () => {
    const index = indexOf([...groupsOf(1, [6]), ...groupsOf(2, [6], 1), ...groupsOf(3, [8], 2)]);
    const floors = new Map([
      [1, 4],
      [2, 4],
    ]);
    expect(explain(index, { batchSize: 8, floors })).toMatchObject({ largest_sum: null, floors: { length: 2 } });
  });

  it("is ready exactly when a batch can be assembled, and finds the largest sum", () => {
    fc.assert(
      fc.property(smallQueues, (queue) => {
        const index = indexOf(queue.groups);
        const explanation = explain(index, queue);
        const batch = assemble(index, { ...queue, order: { mixing: "fifo" } });
        expect(explanation.reason === "ready").toBe(batch !== null);
        if (explanation.reason !== "sizes_do_not_add_up") return;
        const floors = explanation.floors.length > 0 ? queue.floors : new Map<number, number>();
        const reaches = (batchSize: number) => allValidBatches({ ...queue, batchSize, floors }).length > 0;
        let largest: number | null = queue.batchSize - 1;
        while (largest !== null && !reaches(largest)) largest = largest === 0 ? null : largest - 1;
        expect(explanation.largest_sum).toBe(largest);
      }),
      { numRuns: 300 },
    );
  });
});
