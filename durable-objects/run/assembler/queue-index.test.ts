import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { type QueuedGroup, QueueIndex } from "./queue-index.ts";
import { indexOf, sequencesOf } from "./testing.ts";

/** Everything an index answers, read from it. */
function contentsOf(index: QueueIndex) {
  const groups: QueuedGroup[] = [];
  for (const counts of index.environments.values()) {
    for (const { environment, size, ages } of counts.classes.values()) {
      for (let position = 0; position < ages.length; position++) {
        groups.push({ age: ages.at(position) ?? Number.NaN, environment, size });
      }
    }
  }
  return {
    groups: groups.sort((a, b) => a.age - b.age),
    totals: [index.groups, index.sequences, index.maxGroupSize],
    bySize: [...index.groupsBySize].sort(([a], [b]) => a - b),
    byEnvironment: new Map([...index.environments].map(([id, { groups, sequences }]) => [id, [groups, sequences]])),
  };
}

function contentsOfModel(model: readonly QueuedGroup[]): ReturnType<typeof contentsOf> {
  const groups = model.toSorted((a, b) => a.age - b.age);
  const bySize = Map.groupBy(groups, ({ size }) => size);
  const byEnvironment = Map.groupBy(groups, ({ environment }) => environment);
  return {
    groups,
    totals: [groups.length, sequencesOf(groups), Math.max(0, ...bySize.keys())],
    bySize: [...bySize].map(([size, { length }]): [number, number] => [size, length]).sort(([a], [b]) => a - b),
    byEnvironment: new Map([...byEnvironment].map(([id, own]) => [id, [own.length, sequencesOf(own)]])),
  };
}

describe("QueueIndex", () => {
  it("equals a plain list of groups after any adds and removes", () => {
    const step = fc.record({
      kind: fc.constantFrom("add", "add", "add old", "remove oldest", "remove any"),
      environment: fc.constantFrom(1, 2, null),
      size: fc.integer({ min: 1, max: 3 }),
      pick: fc.nat({ max: 1000 }),
    });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const index = new QueueIndex();
        let model: QueuedGroup[] = [];
        steps.forEach(({ kind, environment, size, pick }, position) => {
          if (kind === "add" || kind === "add old") {
            // Fractions keep ages unique: later steps' "old" ages fall between earlier ones.
            const age = kind === "add" ? 1000 + position : pick + position / 1000;
            const group = { age, environment, size };
            index.add(group);
            model.push(group);
            return;
          }
          const byAge = model.toSorted((a, b) => a.age - b.age);
          const group = byAge[kind === "remove any" ? pick % Math.max(1, byAge.length) : 0];
          if (group === undefined) return;
          expect(index.remove(group.age, group.environment, group.size)).toBe(true);
          model = model.filter((other) => other !== group);
        });
        expect(contentsOf(index)).toEqual(contentsOfModel(model));
      }),
    );
  });

  it("keeps order and counts through many removals and returns of the oldest", () => {
    const index = new QueueIndex();
    for (let age = 0; age < 5000; age++) index.add({ age, environment: 1, size: 2 });
    for (let age = 0; age < 4000; age++) index.remove(age, 1, 2);
    for (let age = 3999; age >= 3000; age--) index.add({ age, environment: 1, size: 2 });
    expect(contentsOf(index).groups.map(({ age }) => age)).toEqual(Array.from({ length: 2000 }, (_, at) => 3000 + at));
  });

  it("counts versions by changes only", () => {
    const index = indexOf([{ age: 1, environment: 1, size: 2 }]);
    const { version } = index;
    expect(index.remove(1, 1, 3)).toBe(false);
    expect(index.remove(1, 2, 2)).toBe(false);
    expect(index.remove(2, 1, 2)).toBe(false);
    expect(index.version).toBe(version);
    expect(index.remove(1, 1, 2)).toBe(true);
    expect(index.version).toBe(version + 1);
  });

  it.each([
    { age: 1, environment: 1, size: 0 },
    { age: 1, environment: 1, size: 1.5 },
    { age: Number.NaN, environment: 1, size: 1 },
    { age: 7, environment: 1, size: 1 },
  ])("refuses $age/$environment/$size and stays as it was", (group) => {
    const index = indexOf([
      { age: 7, environment: 1, size: 1 },
      { age: 8, environment: 1, size: 1 },
    ]);
    expect(() => index.add(group)).toThrow(RangeError);
    expect(contentsOf(index).totals).toEqual([2, 2, 1]);
  });
});
