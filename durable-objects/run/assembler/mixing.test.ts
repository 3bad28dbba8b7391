import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { assemble } from "./assemble.ts";
import { deficitLimit, type MixingState, type Weights } from "./mixing.ts";
import type { EnvironmentId, QueueIndex } from "./queue-index.ts";
import { indexOf, removeAll } from "./testing.ts";

interface Source {
  readonly environment: EnvironmentId;
  readonly weight: number;
  /** Group sizes, by turns. */
  readonly sizes: readonly number[];
}

interface Outcome {
  /** Sequences, by position of the source. */
  readonly picked: number[];
  readonly deficits: MixingState;
}

/** Takes batches from a queue where each source always has `backlog` groups waiting. */
function run(
  sources: readonly Source[],
  batches: number,
  batchSize: number,
  floors: ReadonlyMap<number, number> = new Map(),
  backlog = 3 * batchSize,
): Outcome {
  const index = indexOf([]);
  const weights: Weights = new Map(sources.map(({ environment, weight }) => [environment, weight]));
  const made = sources.map(() => 0);
  const picked = new Map<EnvironmentId, number>();
  let deficits: MixingState = new Map();
  let age = 0;
  for (let batch = 0; batch < batches; batch++) {
    for (let round = 0; round < backlog; round++) age = refillRound(index, sources, made, backlog, age);
    const assembled = assemble(index, { batchSize, floors, order: { mixing: "weighted", weights, deficits } });
    if (assembled === null) throw new Error("no batch");
    deficits = assembled.deficits;
    for (const { environment, size } of assembled.groups) {
      picked.set(environment, (picked.get(environment) ?? 0) + size);
    }
    removeAll(index, assembled.groups);
  }
  return { picked: sources.map(({ environment }) => picked.get(environment) ?? 0), deficits };
}

/** One group for each source below its backlog, so that ages interleave. */
function refillRound(index: QueueIndex, sources: readonly Source[], made: number[], backlog: number, firstAge: number) {
  let age = firstAge;
  sources.forEach(({ environment, sizes }, position) => {
    if ((index.environments.get(environment)?.groups ?? 0) >= backlog) return;
    const count = made[position] ?? 0;
    index.add({ age: age++, environment, size: sizes[count % sizes.length] ?? 1 });
    made[position] = count + 1;
  });
  return age;
}

const someWeights = fc.array(fc.integer({ min: 1, max: 8 }), { minLength: 2, maxLength: 6 });

function sharesOf(weights: readonly number[]): number[] {
  const sum = weights.reduce((total, weight) => total + weight, 0);
  return weights.map((weight) => weight / sum);
}

describe("P6: realised shares follow the weights", () => {
  it("of groups of one size, within that size for each other environment, over any number of batches", () => {
    fc.assert(
      fc.property(someWeights, fc.integer({ min: 1, max: 30 }), (weights, batches) => {
        const groupSize = 2;
        // P4 gives the oldest group a place in every batch, so a share must be worth a group a batch to be kept.
        const batchSize = groupSize * weights.reduce((total, weight) => total + weight, 0);
        const sources = weights.map((weight, environment) => ({ environment, weight, sizes: [groupSize] }));
        const { picked } = run(sources, batches, batchSize, new Map(), batchSize);
        sharesOf(weights).forEach((share, position) => {
          const owed = batches * share * batchSize - (picked[position] ?? 0);
          expect(Math.abs(owed)).toBeLessThanOrEqual((weights.length - 1) * groupSize + 1e-6);
        });
      }),
      { numRuns: 25 },
    );
  });

  it("of mixed sizes, within the deficit limit", () => {
    fc.assert(
      fc.property(someWeights, (weights) => {
        const batchSize = 64;
        const sources = weights.map((weight, environment) => ({ environment, weight, sizes: [1, 4, 2] }));
        const batches = 40;
        const { picked } = run(sources, batches, batchSize, new Map(), 64);
        sharesOf(weights).forEach((share, position) => {
          const owed = batches * share * batchSize - (picked[position] ?? 0);
          expect(Math.abs(owed)).toBeLessThanOrEqual(deficitLimit(batchSize, weights.length));
        });
      }),
      { numRuns: 15 },
    );
  });

  it("counts groups without an environment as one, of weight 1 unless given", () => {
    const sources = [
      { environment: null, weight: 1, sizes: [1] },
      { environment: 5, weight: 3, sizes: [1] },
    ];
    expect(run(sources, 10, 8).picked).toEqual([20, 60]);
  });

  it("still follows the weights of the others beside an environment whose size never fits", () => {
    const sources = [
      { environment: 1, weight: 5, sizes: [15] },
      { environment: 2, weight: 3, sizes: [2] },
      { environment: 3, weight: 1, sizes: [2] },
    ];
    const { picked, deficits } = run(sources, 400, 16);
    expect(picked[0]).toBe(0);
    expect((picked[1] ?? 0) / (picked[2] ?? 1)).toBeCloseTo(3, 1);
    expect(deficits.get(1)).toBeLessThanOrEqual(deficitLimit(16, 3));
  });

  it("keeps deficits within the limit, whatever floors and ages override", () => {
    const sources = [
      { environment: 1, weight: 1, sizes: [4] },
      { environment: 2, weight: 50, sizes: [2] },
      { environment: 3, weight: 0, sizes: [2] },
    ];
    const { deficits } = run(sources, 200, 16, new Map([[1, 8]]));
    const values = [...deficits.values()];
    for (const deficit of values) expect(Math.abs(deficit)).toBeLessThanOrEqual(deficitLimit(16, 3));
    expect(values.length).toBe(3);
  });

  it("forgets the deficit of an environment with nothing queued", () => {
    const index = indexOf([{ age: 0, environment: 1, size: 2 }]);
    const deficits = new Map([[2, 7]]);
    const batch = assemble(index, {
      batchSize: 2,
      floors: new Map(),
      order: { mixing: "weighted", weights: new Map(), deficits },
    });
    expect(batch?.deficits).toEqual(new Map([[1, 0]]));
  });
});
