import { describe, expect, it } from "vitest";
import type { Throughput } from "./load.ts";
import { growthRatios, ratios } from "./report.ts";
import { medianGrowth, type Round } from "./rounds.ts";

const work = (seconds: number): Throughput => ({ seconds, groups: 10, textBytes: 1000 });

function round(plainSeconds: number, gzipSeconds: number): Round {
  const both = { plain: work(plainSeconds), gzip: work(gzipSeconds) };
  return { post: { small: both, medium: both, large: both }, deliver: both };
}

describe("ratios", () => {
  it("is above one where Lachesis is quicker, and counts both encodings of a post by their time", () => {
    expect(ratios([round(1, 2)], [round(4, 2)])).toEqual({
      post_small: 2,
      post_medium: 2,
      post_large: 2,
      deliver_plain: 4,
      deliver_gzip: 1,
    });
  });

  it("is the median of the rounds' own ratios", () => {
    const ours = [round(1, 1), round(10, 10), round(1, 1)];
    const theirs = [round(3, 3), round(20, 20), round(1, 1)];
    expect(ratios(ours, theirs)).toMatchObject({ post_small: 2 });
  });
});

describe("growth", () => {
  it("is the time at the longest queue over the time at the shortest", () => {
    const growth = { queued: [1, 10, 100], poll: [2, 9, 4], post: [1, 1, 1] };
    expect(growthRatios(growth)).toEqual({ poll: 2, post: 1 });
  });

  it("is taken from the median of the passes at each level", () => {
    const pass = (...seconds: number[]) => ({ queued: [1, 10], poll: seconds, post: seconds });
    expect(medianGrowth([pass(1, 5), pass(9, 2), pass(2, 4)]).poll).toEqual([2, 4]);
  });
});
