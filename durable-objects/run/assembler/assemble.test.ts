import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type AssembledBatch, assemble, type Order } from "./assemble.ts";
import { agesOf, allValidBatches, groupsOf, indexOf, isOlder, isValid, type Queue, smallQueues } from "./testing.ts";

const fifo: Order = { mixing: "fifo" };

const orders: fc.Arbitrary<Order> = fc.oneof(
  fc.constant(fifo),
  fc.record({
    mixing: fc.constant("weighted" as const),
    weights: fc
      .uniqueArray(fc.tuple(fc.constantFrom<number | null>(1, 2, null), fc.double({ min: 0, max: 5, noNaN: true })), {
        selector: ([environment]) => environment,
      })
      .map((entries) => new Map(entries)),
    deficits: fc
      .array(fc.tuple(fc.constantFrom<number | null>(1, 2, null), fc.double({ min: -30, max: 30, noNaN: true })))
      .map((entries) => new Map(entries)),
  }),
);

function assembleQueue({ groups, batchSize, floors }: Queue, order: Order): AssembledBatch | null {
  return assemble(indexOf(groups), { batchSize, floors, order });
}

describe("cases", () => {
  const none = new Map<number, number>();
  it.each([
    { name: "nothing queued", groups: [], batchSize: 4, floors: none, ages: null },
    { name: "4+2 fill 6", groups: groupsOf(1, [4, 4, 2]), batchSize: 6, floors: none, ages: [0, 2] },
    { name: "3+2 fill 5", groups: groupsOf(1, [3, 3, 2]), batchSize: 5, floors: none, ages: [0, 2] },
    { name: "uniform sizes go by age", groups: groupsOf(1, [2, 2, 2, 2]), batchSize: 6, floors: none, ages: [0, 1, 2] },
    {
      name: "the oldest that cannot be used waits",
      groups: groupsOf(1, [3, 4, 4]),
      batchSize: 8,
      floors: none,
      ages: [1, 2],
    },
    { name: "a group above B never blocks", groups: groupsOf(1, [9, 4, 4]), batchSize: 8, floors: none, ages: [1, 2] },
    { name: "sizes that never add up", groups: groupsOf(1, [4, 4, 4]), batchSize: 6, floors: none, ages: null },
    {
      name: "a floor of 0.5 of 8 takes younger groups",
      groups: [...groupsOf(1, [2, 2, 2, 2]), ...groupsOf(2, [2, 2, 2], 4)],
      batchSize: 8,
      floors: new Map([[2, 4]]),
      ages: [0, 1, 4, 5],
    },
    {
      name: "floors of 0.75 and 0.75, scaled",
      groups: [...groupsOf(1, [4, 4]), ...groupsOf(2, [4], 2)],
      batchSize: 8,
      floors: new Map([
        [1, 4],
        [2, 4],
      ]),
      ages: [0, 2],
    },
    {
      name: "a floor of an absent environment",
      groups: groupsOf(1, [4, 4]),
      batchSize: 8,
      floors: new Map([[2, 4]]),
      ages: null,
    },
    {
      name: "a floor below the group size",
      groups: [...groupsOf(1, [4, 4]), ...groupsOf(2, [4], 2)],
      batchSize: 8,
      floors: new Map([[2, 1]]),
      ages: [0, 2],
    },
    {
      name: "groups without an environment",
      groups: [...groupsOf(null, [4, 4]), ...groupsOf(2, [4], 2)],
      batchSize: 8,
      floors: new Map([[2, 2]]),
      ages: [0, 2],
    },
    {
      name: "a class refused under its floor stays refused once the floor is met",
      groups: [...groupsOf(1, [3, 1, 1, 3]), ...groupsOf(2, [3, 1, 1], 4)],
      batchSize: 4,
      floors: new Map([[1, 2]]),
      ages: [0, 1],
    },
  ])("$name", ({ groups, batchSize, floors, ages }) => {
    const batch = assembleQueue({ groups, batchSize, floors }, fifo);
    expect(batch && agesOf(batch.groups)).toEqual(ages);
  });

  it.each([0, -1, 1.5, Number.NaN])("refuses a batch size of %d", (batchSize) => {
    expect(() => assemble(indexOf([]), { batchSize, floors: none, order: fifo })).toThrow(RangeError);
  });

  it("leaves the index as it is", () => {
    const index = indexOf(groupsOf(1, [4, 4, 2]));
    const { version } = index;
    assemble(index, { batchSize: 6, floors: none, order: fifo });
    expect([index.version, index.groups]).toEqual([version, 3]);
  });
});

describe("against exhaustive search", () => {
  const runs = { numRuns: 1500 };

  it("P1, P2, P5: gives a valid batch exactly if there is one", () => {
    fc.assert(
      fc.property(smallQueues, orders, (queue, order) => {
        const batch = assembleQueue(queue, order);
        expect(batch !== null).toBe(allValidBatches(queue).length > 0);
        if (batch === null) return;
        expect(isValid(batch.groups, queue.batchSize, queue.floors)).toBe(true);
        expect(new Set(agesOf(batch.groups)).size).toBe(batch.groups.length);
        for (const group of batch.groups) expect(queue.groups).toContainEqual(group);
      }),
      runs,
    );
  });

  it("P3: takes the oldest of each environment and size, in order", () => {
    fc.assert(
      fc.property(smallQueues, orders, (queue, order) => {
        const className = ({ environment, size }: { environment: number | null; size: number }) =>
          `${environment}/${size}`;
        const queued = Map.groupBy(queue.groups, className);
        for (const [name, groups] of Map.groupBy(assembleQueue(queue, order)?.groups ?? [], className)) {
          expect(groups).toEqual(queued.get(name)?.slice(0, groups.length));
        }
      }),
      runs,
    );
  });

  it("P4: contains the oldest group that any valid batch contains", () => {
    fc.assert(
      fc.property(smallQueues, orders, (queue, order) => {
        const batch = assembleQueue(queue, order);
        if (batch === null) return;
        const oldest = Math.min(...allValidBatches(queue).flatMap(agesOf));
        expect(agesOf(batch.groups)).toContain(oldest);
      }),
      runs,
    );
  });

  it("fifo gives the valid batch with the lexicographically smallest ages", () => {
    fc.assert(
      fc.property(smallQueues, (queue) => {
        const batch = assembleQueue(queue, fifo);
        if (batch === null) return;
        const smallest = allValidBatches(queue).reduce((best, other) => (isOlder(other, best) ? other : best));
        expect(batch.groups).toEqual(smallest);
      }),
      runs,
    );
  });
});
