import { expect, test } from "vitest";
import { withoutSignalListeners } from "./signal-listeners.ts";
import { API_CONFIG, readWorker } from "./worker.ts";

test("listeners to signals that an action adds are gone after it, others stay", () => {
  const own = () => undefined;
  process.on("SIGHUP", own);
  const before = process.listeners("SIGHUP");
  expect(withoutSignalListeners(() => process.on("SIGHUP", () => undefined).listenerCount("SIGHUP"))).toBe(
    before.length + 1,
  );
  expect(process.listeners("SIGHUP")).toEqual(before);
  expect(before).toContain(own);
  process.off("SIGHUP", own);
});

test("reading a Worker's wrangler.toml leaves no listener", () => {
  const count = () => ["SIGINT", "SIGTERM", "SIGHUP"].map((signal) => process.listenerCount(signal));
  const before = count();
  readWorker(API_CONFIG);
  expect(count()).toEqual(before);
});
