import { describe, expect, it } from "vitest";
import { assemble, type Order } from "./assemble.ts";
import type { Probe } from "./candidates.ts";
import { QueueIndex } from "./queue-index.ts";

const ENVIRONMENTS = 10;
const SIZES = [2, 6, 4, 16];
const orders: Order[] = [{ mixing: "fifo" }, { mixing: "weighted", weights: new Map([[3, 5]]), deficits: new Map() }];

/** The same queue at every length, as far as it goes: environments and sizes by turns. */
function periodicQueue(groups: number): QueueIndex {
  const index = new QueueIndex();
  for (let age = 0; age < groups; age++) {
    const size = SIZES[(age + Math.floor(age / ENVIRONMENTS)) % SIZES.length] ?? 1;
    index.add({ age, environment: age % ENVIRONMENTS, size });
  }
  return index;
}

function workOf(groups: number, batchSize: number, floors: ReadonlyMap<number, number>, order: Order): Probe {
  const probe = { feasibilityChecks: 0, groupsRead: 0 };
  assemble(periodicQueue(groups), { batchSize, floors, order, probe });
  return probe;
}

describe("P7: the work does not grow with the queue", () => {
  const cases = [
    { name: "without floors", batchSize: 64, floors: new Map<number, number>() },
    {
      name: "with floors",
      batchSize: 64,
      floors: new Map([
        [1, 13],
        [7, 9],
        [9, 16],
      ]),
    },
    { name: "when no batch can be formed", batchSize: 63, floors: new Map<number, number>() },
  ].flatMap((example) => orders.map((order) => ({ ...example, order, mixing: order.mixing })));

  it.each(cases)("$mixing $name", ({ batchSize, floors, order }) => {
    const work = workOf(1_000, batchSize, floors, order);
    expect(workOf(100_000, batchSize, floors, order)).toEqual(work);
    expect(work.feasibilityChecks).toBeLessThan(100);
    expect(work.groupsRead).toBeLessThan(10 * batchSize);
  });

  it("reads no group when no batch can be formed", () => {
    for (const order of orders) {
      expect(workOf(1_000, 63, new Map(), order)).toEqual({ feasibilityChecks: 1, groupsRead: 0 });
    }
  });
});
