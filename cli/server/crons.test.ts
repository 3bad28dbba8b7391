import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startCrons } from "./crons.ts";

beforeEach(() => void vi.useFakeTimers({ now: new Date("2026-03-04T05:06:20Z") }));
afterEach(() => void vi.useRealTimers());

test("a cron fires at once, then in each minute it names, whether or not it is through", async () => {
  const fired: string[] = [];
  const job = (worker: string, cron: string) => ({
    worker,
    crons: [cron],
    fire: (_: string, at: Date) => {
      fired.push(`${worker} ${at.toISOString().slice(11, 19)}`);
      return new Promise<void>(() => undefined);
    },
  });
  const stop = startCrons([job("always", "* * * * *"), job("odd", "1-59/2 * * * *")], () => undefined);
  expect(fired.splice(0)).toEqual(["always 05:06:20", "odd 05:06:20"]);
  await vi.advanceTimersByTimeAsync(40_000);
  expect(fired.splice(0)).toEqual(["always 05:07:00", "odd 05:07:00"]);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(fired.splice(0)).toEqual(["always 05:08:00"]);
  stop();
  await vi.advanceTimersByTimeAsync(120_000);
  expect(fired).toEqual([]);
});

test("a cron that fails is logged by its Worker's name, and fires again", async () => {
  const lines: string[] = [];
  const job = { worker: "lachesis-x", crons: ["* * * * *"], fire: () => Promise.reject(new Error("no run")) };
  const stop = startCrons([job], (line) => lines.push(line));
  await vi.advanceTimersByTimeAsync(40_000);
  stop();
  expect(lines).toEqual(Array(2).fill('error: the cron "* * * * *" of lachesis-x failed: no run'));
});

test.each<[string, number, number | null, number]>([
  ["is not logged once all is told to stop", 20, 10, 0],
  ["is not logged when it is noticed just before the signal", 20, 70, 0],
  ["is logged while nobody said stop", 20, null, 1],
])("what fails %s", async (_what, failsAtMs, stopAtMs, count) => {
  const lines: string[] = [];
  const controller = new AbortController();
  const fire = () => new Promise<void>((_, reject) => setTimeout(() => reject(new Error("fetch failed")), failsAtMs));
  const stop = startCrons(
    [{ worker: "lachesis-x", crons: ["* * * * *"], fire }],
    (line) => lines.push(line),
    controller.signal,
  );
  if (stopAtMs !== null) setTimeout(() => controller.abort(), stopAtMs);
  await vi.advanceTimersByTimeAsync(1_000);
  stop();
  expect(lines).toHaveLength(count);
});
