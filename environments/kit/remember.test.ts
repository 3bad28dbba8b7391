import { expect, test } from "vitest";
import { remember } from "./remember.ts";

const invocation = () => new AbortController().signal;

test("what was loaded is kept from invocation to invocation, under its key", async () => {
  const kept = remember<number>();
  let loads = 0;
  const load = async () => ++loads;
  expect(await kept("a", load, invocation())).toBe(1);
  expect(await kept("a", load, invocation())).toBe(1);
  expect(await kept("b", load, invocation())).toBe(2);
});

test("an invocation that asks several times at once loads once", async () => {
  const kept = remember<number>();
  const signal = invocation();
  const given: AbortSignal[] = [];
  const load = async (own: AbortSignal) => given.push(own);
  expect(await Promise.all([1, 2, 3].map(() => kept("a", load, signal)))).toEqual([1, 1, 1]);
  expect(given).toEqual([signal]);
});

test("a load that never ends is its own invocation's alone: the next one loads for itself", async () => {
  const kept = remember<string>();
  void kept("a", () => new Promise<never>(() => {}), invocation());
  expect(await kept("a", async () => "there", invocation())).toBe("there");
});

test("a load that failed is tried again, by the same invocation too", async () => {
  const kept = remember<string>();
  const signal = invocation();
  const failing = [1, 2].map(() => kept("a", () => Promise.reject(new Error("not there yet")), signal));
  for (const one of failing) await expect(one).rejects.toThrow("not there yet");
  expect(await kept("a", async () => "there", signal)).toBe("there");
});

test("without the invocation's signal says what to pass", async () => {
  const untyped: (...given: unknown[]) => Promise<unknown> = Object(remember<string>());
  await expect(untyped("a", async () => "there")).rejects.toThrow("pass context.invocation as the third argument");
});
