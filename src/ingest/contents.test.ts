import { expect, test } from "vitest";
import { Contents } from "./contents.ts";

const chunk = (text: string) => new TextEncoder().encode(text);

test("contents have one name, whether it is known from the start or late that it is needed", async () => {
  const [early, late, settled] = [new Contents(true), new Contents(false), new Contents(false)];
  for (const contents of [early, late]) for (const text of ["a", "bc"]) contents.push(chunk(text));
  settled.push(chunk("a"));
  await settled.settle(async () => true);
  settled.push(chunk("bc"));
  expect(late.key).toBeNull();
  late.demand();
  expect(new Set([early.key, late.key, settled.key])).toEqual(new Set([early.key]));
  expect(early.key).toMatch(/^c:[0-9a-f]{64}$/);
});

test("nothing is kept once it is settled that no name is needed, or the request is refused", async () => {
  const settled = new Contents(false);
  settled.push(chunk("abc"));
  expect(settled.bytes).toBe(3);
  await settled.settle(async () => false);
  const refused = new Contents(false);
  refused.drop();
  for (const contents of [settled, refused]) {
    contents.push(chunk("more"));
    expect([contents.bytes, contents.key]).toEqual([0, null]);
    contents.demand();
    expect(contents.key).toBeNull();
  }
});
