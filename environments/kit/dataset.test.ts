import { describe, expect, test } from "vitest";
import { z } from "zod";
import { dataset, jsonlFromBucket } from "./dataset.ts";
import type { Split } from "./items.ts";
import { Random } from "./random.ts";

const rows = (count: number, from = 0) => Array.from({ length: count }, (_, index) => index + from);
const { signal: invocation } = new AbortController();
const context = (split: Split, seed = 0) => ({
  config: { seed },
  state: null,
  split,
  random: Random.of("test"),
  env: {},
  invocation,
});
type Draw = ReturnType<typeof dataset<{ seed: number }, number, number>>;
const drawAll = (draw: Draw, count: number, split: Split) =>
  Promise.all(rows(count).map((index) => draw(index, context(split))));

describe("a data set", () => {
  test("gives each row once an epoch and keeps a tenth for evaluation", async () => {
    const draw = dataset({ load: () => rows(20), item: (row) => row });
    const epoch = await drawAll(draw, 18, "train");
    expect(epoch.toSorted((a, b) => a - b)).toEqual(rows(18));
    expect(await drawAll(draw, 4, "evaluation")).toEqual([18, 19, 18, 19]);
  });

  test("may have another file for evaluation", async () => {
    const draw = dataset({ load: () => rows(3), heldOut: () => rows(2, 100), item: (row) => row });
    expect((await drawAll(draw, 3, "train")).toSorted()).toEqual([0, 1, 2]);
    expect(await drawAll(draw, 2, "evaluation")).toEqual([100, 101]);
  });

  test("is loaded once, and again after it failed", async () => {
    let loads = 0;
    const draw = dataset({
      load: async () => {
        if (++loads === 1) throw new Error("not there yet");
        return rows(5);
      },
      heldOut: 1,
      item: (row) => row,
    });
    await expect(draw(0, context("train"))).rejects.toThrow("not there yet");
    await drawAll(draw, 4, "train");
    expect(loads).toBe(2);
  });

  test("without rows for a split says so", async () => {
    const draw = dataset({ load: () => rows(3), item: (row) => row });
    await expect(draw(0, context("evaluation"))).rejects.toThrow("no rows for evaluation; see heldOut");
  });
});

describe("a bucket", () => {
  const row = z.object({ n: z.int() });
  const env = { DATA: { get: async (key: string) => (key === "a" ? { text: async () => '{"n":1}\n{"n":2}' } : null) } };

  test("holds JSON Lines", async () => {
    expect(await jsonlFromBucket({ env }, "DATA", "a", row)).toEqual([{ n: 1 }, { n: 2 }]);
  });

  test.each([
    { binding: "OTHER", key: "a", message: 'binding = "OTHER"' },
    { binding: "DATA", key: "b", message: "the bucket DATA has no b" },
  ])("$binding/$key is missing, and the error says what to do", async ({ binding, key, message }) => {
    await expect(jsonlFromBucket({ env }, binding, key, row)).rejects.toThrow(message);
  });
});
