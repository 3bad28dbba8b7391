import { describe, expect, test } from "vitest";
import { Watchdog } from "./watchdog.ts";

const CAUSE = { reason: "too_few_sequences", message: "4 sequences are missing" } as const;
const explain = () => CAUSE;
const START = 1_800_000_000_000;
const at = (seconds: number) => START + seconds * 1000;

/** What happens, in order: "poll SECOND", "poll SECOND after WAITED", "batch SECOND". */
function having(events: readonly string[]): Watchdog {
  const watchdog = new Watchdog();
  for (const event of events) {
    const [what, when, , waited = "0"] = event.split(" ");
    if (what === "batch") watchdog.progressed(at(Number(when)));
    else watchdog.polled(at(Number(when)), Number(waited) * 1000);
  }
  return watchdog;
}

const every = (step: number, from: number, to: number) =>
  Array.from({ length: Math.floor((to - from) / step) + 1 }, (_, index) => `poll ${from + index * step}`);

describe("a run", () => {
  test.each<[what: string, events: string[], waiting: number, second: number, since: number | null]>([
    ["that nobody polls is not stalled", [], 0, 1_000, null],
    ["whose trainer polls in vain is, after a minute", every(10, 0, 60), 0, 60, 60],
    ["is not a moment before", every(10, 0, 50), 0, 59.9, null],
    ["is as long as the last poll is recent", every(10, 0, 60), 0, 90, 90],
    ["is not any more when nobody has polled for half a minute", every(10, 0, 60), 0, 90.1, null],
    ["whose trainer comes back after a pause is hungry anew", ["poll 0", ...every(10, 100, 150)], 0, 155, null],
    ["and stalled a minute after that", ["poll 0", ...every(10, 100, 160)], 0, 165, 65],
    ["whose last batch is old is not stalled by a first poll", ["batch 0", "poll 1000"], 0, 1_001, null],
    ["that hands out a batch is not stalled", [...every(10, 0, 60), "batch 61", "poll 62"], 0, 70, null],
    ["is again, a minute after the first poll in vain", ["batch 1", ...every(10, 5, 65)], 0, 65, 60],
    ["whose trainer waits is stalled, however long ago it began to", ["poll 0"], 1, 200, 200],
    ["whose trainer trained for long and got a batch is not", ["poll 0", "batch 10"], 0, 200, null],
    ["with one who waits on is, a minute after another's batch", ["poll 0", "poll 5", "batch 10"], 1, 75, 65],
    ["with one who waits on is not before", ["poll 0", "poll 5", "batch 10"], 1, 69, null],
    [
      "whose trainer waited in vain and waits again has one hunger",
      ["poll 0", "poll 300 after 300", "poll 301"],
      1,
      310,
      310,
    ],
    ["whose trainer gave up waiting is not hungry for long", ["poll 0", "poll 300 after 300"], 0, 331, null],
    ["counts a wait from where it began, or from the last batch", ["batch 100", "poll 200 after 150"], 0, 201, 101],
  ])("%s", (_what, events, waiting, second, since) => {
    const stall = having(events).look(at(second), waiting, explain);
    expect(stall?.since_seconds ?? null).toBe(since);
  });

  test("that is stalled says since when and why", () => {
    expect(having(every(10, 0, 90)).look(at(90), 0, explain)).toEqual({
      stalled: true,
      since_seconds: 90,
      reason: "too_few_sequences",
      message: "trainers have asked in vain for 90 s: 4 sequences are missing",
    });
  });

  test("that is not stalled is not explained", () => {
    const unasked = () => {
      throw new Error("asked for the cause of nothing");
    };
    expect(having(every(10, 0, 50)).look(at(55), 1, unasked)).toBeNull();
  });
});

describe("the log", () => {
  test("is told once a minute while the stall lasts, and looking does not count", () => {
    const watchdog = new Watchdog();
    const told: number[] = [];
    for (let second = 0; second <= 250; second += 5) {
      watchdog.polled(at(second));
      watchdog.look(at(second), 0, explain);
      if (watchdog.toLog(at(second), 0, explain) !== null) told.push(second);
    }
    expect(told).toEqual([60, 120, 180, 240]);
  });

  test("is told at once of the next stall", () => {
    const watchdog = having(every(10, 0, 60));
    expect(watchdog.toLog(at(60), 0, explain)).not.toBeNull();
    watchdog.progressed(at(61));
    for (const second of [62, 80, 100, 122]) watchdog.polled(at(second));
    expect(watchdog.toLog(at(122), 0, explain)).toMatchObject({ since_seconds: 60 });
  });

  test.each<[what: string, events: string[], waiting: number, second: number, next: number | null]>([
    ["nobody is hungry", [], 0, 10, null],
    ["somebody is", ["poll 0"], 0, 10, 60],
    ["it is overdue", every(10, 0, 70), 0, 75, 75],
    ["hunger ended", ["poll 0", "batch 5"], 0, 10, null],
  ])("is looked after in time when %s", (_what, events, waiting, second, next) => {
    expect(having(events).nextLook(at(second), waiting)).toBe(next === null ? null : at(next));
  });

  test("is looked after a minute later once it was told", () => {
    const watchdog = having(every(10, 0, 60));
    watchdog.toLog(at(61), 0, explain);
    expect(watchdog.nextLook(at(62), 0)).toBe(at(121));
  });
});
