import { describe, expect, test } from "vitest";
import { ArrivalTimes } from "./arrival-times.ts";
import { Histogram } from "./histogram.ts";
import { Telemetry } from "./telemetry.ts";

const START = 1_800_000_000_000;

/** Buckets that hold something: {bound: count}, "more" for what is beyond them. */
function filled({ bounds, counts }: { bounds: readonly number[]; counts: readonly number[] }) {
  const named = counts.map((count, index) => [`${bounds[index] ?? "more"}`, count] as const);
  return Object.fromEntries(named.filter(([, count]) => count > 0));
}

describe("a histogram", () => {
  test.each([
    ["nothing", [], [0, 0, 0], 0],
    ["a bound's own value in its bucket", [1, 10], [1, 1, 0], 11],
    ["what is beyond the bounds last", [10.5, 1e9], [0, 0, 2], 1e9 + 10.5],
    ["what is below all first", [-3, 0], [2, 0, 0], -3],
    ["no NaN and no infinity", [Number.NaN, Number.POSITIVE_INFINITY, 2], [0, 1, 0], 2],
  ])("counts %s", (_what, values, counts, sum) => {
    const histogram = new Histogram([1, 10]);
    for (const value of values) histogram.observe(value);
    expect(histogram.counts()).toEqual({ bounds: [1, 10], counts, sum });
  });
});

describe("arrival times", () => {
  test("are those of the number or a little before", () => {
    const times = new ArrivalTimes();
    for (let number = 10; number < 40; number++) times.came(number, START + number * 30);
    for (let number = 10; number < 40; number++) {
      const early = START + number * 30 - (times.of(number) ?? Number.NaN);
      expect(early).toBeGreaterThanOrEqual(0);
      expect(early).toBeLessThan(130);
    }
  });

  test("are unknown for what came before, and for nothing", () => {
    const times = new ArrivalTimes();
    expect(times.of(3)).toBeNull();
    times.came(5, START);
    expect([times.of(4), times.of(5), times.of(6)]).toEqual([null, START, START]);
  });

  test("stay known within 2% of the time since, for a long queue", () => {
    const times = new ArrivalTimes();
    const last = 100_000;
    const came = (number: number) => START + number * 1000;
    for (let number = 1; number <= last; number++) times.came(number, came(number));
    for (let number = 1; number <= last; number += 97) {
      const early = came(number) - (times.of(number) ?? Number.NaN);
      expect(early).toBeGreaterThanOrEqual(0);
      expect(early).toBeLessThanOrEqual(0.02 * (came(last) - came(number)) + 100);
    }
  });
});

describe("telemetry", () => {
  test.each([
    ["of the step's own version is fresh", 5, 4, "0"],
    ["of a version ahead is fresh", 5, 9, "0"],
    ["of the version before is one step stale", 5, 3, "1"],
    ["five steps old is in the bucket of six", 10, 4, "6"],
    ["very old is beyond the buckets", 100, 4, "more"],
  ])("a group %s", (_what, step, policyVersion, bucket) => {
    const telemetry = new Telemetry();
    telemetry.batchHandedOut({ step, groups: [{ age: 1, policyVersion }], waitedMs: 0, now: START });
    expect(filled(telemetry.counts().batchStalenessSteps)).toEqual({ [bucket]: 1 });
  });

  test("counts how long groups were queued and requests held", () => {
    const telemetry = new Telemetry();
    telemetry.groupQueued({ age: 7, sequences: 8, tokens: 5000 }, START);
    telemetry.groupQueued({ age: 8, sequences: 3, tokens: 10 }, START + 4_000);
    const groups = [6, 7, 8].map((age) => ({ age, policyVersion: 0 }));
    telemetry.batchHandedOut({ step: 1, groups, waitedMs: 700, now: START + 6_000 });
    const counts = telemetry.counts();
    // The group of age 6 came before the object woke.
    expect(filled(counts.groupQueueSeconds)).toEqual({ "2.5": 1, "10": 1 });
    expect(counts.groupQueueSeconds.sum).toBe(8);
    expect(filled(counts.batchWaitSeconds)).toEqual({ "1": 1 });
    expect(filled(counts.groupSequences)).toEqual({ "4": 1, "8": 1 });
    expect(filled(counts.groupTokens)).toEqual({ "64": 1, "16384": 1 });
  });

  test("counts rollouts that it saw begin, and acks", () => {
    const telemetry = new Telemetry();
    telemetry.rolloutLeased(10, START);
    telemetry.rolloutLeased(11, START + 5_000);
    telemetry.rolloutSubmitted(9, START + 6_000);
    telemetry.rolloutSubmitted(11, START + 6_000);
    telemetry.rolloutSubmitted(10, START + 45_000);
    telemetry.acknowledged();
    const counts = telemetry.counts();
    expect(filled(counts.rolloutSeconds)).toEqual({ "1": 1, "60": 1 });
    expect(counts.acknowledgedBatches).toBe(1);
  });

  test("what it gave is not changed by what comes later", () => {
    const telemetry = new Telemetry();
    const before = telemetry.counts();
    telemetry.groupQueued({ age: 1, sequences: 1, tokens: 1 }, START);
    expect(filled(before.groupTokens)).toEqual({});
  });
});
