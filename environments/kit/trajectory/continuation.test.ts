import { describe, expect, test } from "vitest";
import { continuation, repeatsEnd } from "./continuation.ts";

/** Ids by name: P a prompt's, S sampled, E the end token, N newline, U the next user's, G the generation prompt. */
const [P, S, T, E, F, N, U, G] = [1, 2, 3, 90, 91, 10, 5, 6];

const extending = (...suffix: number[]) => ({ kind: "extends", suffix });

describe("a turn whose end was sampled", () => {
  const last = { rendering: [P, G], sampled: [S, T, E], end: E };
  test.each([
    ["the template renders the same end", [P, G, S, T, E, N, U, G], extending(N, U, G)],
    ["the template leaves the end out", [P, G, S, T, U, G], extending(U, G)],
    ["the template puts a newline instead", [P, G, S, T, N, U, G], extending(N, U, G)],
    ["the template ends turns with another end token", [P, G, S, T, F, N, U, G], extending(N, U, G)],
    ["nothing follows", [P, G, S, T, E], extending()],
    ["nothing follows, not even the end", [P, G, S, T], extending()],
    ["the end stands twice", [P, G, S, T, E, E, N, U, G], { kind: "repeats-end", suffix: [E, N, U, G] }],
    ["text is dropped", [P, G, T, E, N, U, G], { kind: "fork" }],
    ["the turn's text tokenizes otherwise", [P, G, 77, E, N, U, G], { kind: "fork" }],
    ["two tokens are missing", [P, G, S, U, G], { kind: "fork" }],
    ["the prompt changed", [U, G, S, T, E, N, U, G], { kind: "fork" }],
    ["the generation prompt isn't in later renderings", [P, S, T, E, N, U, G], { kind: "fork" }],
    ["the rendering is shorter than before", [P], { kind: "fork" }],
  ])("%s", (_, rendering, expected) => {
    expect(continuation(rendering, last, new Set([E, F]))).toEqual(expected);
  });

  test("an end token nobody named is kept: it may be anything", () => {
    expect(continuation([P, G, S, T, F, N, U, G], last)).toEqual(extending(F, N, U, G));
  });
});

describe("a turn whose end was not sampled", () => {
  const last = { rendering: [P, G], sampled: [S, T], end: null };
  test.each([
    ["the template adds the end", [P, G, S, T, E, N, U, G], extending(E, N, U, G)],
    ["the template adds none", [P, G, S, T, U, G], extending(U, G)],
    ["its last token is missing", [P, G, S, E, N, U, G], { kind: "fork" }],
    ["the next text begins as it ended", [P, G, S, T, T, U, G], extending(T, U, G)],
  ])("%s", (_, rendering, expected) => {
    expect(continuation(rendering, last, new Set([E]))).toEqual(expected);
  });
});

test.each([
  ["nothing but the end was sampled", [E], E, [P, G, E, N, U, G], extending(N, U, G)],
  ["nothing but the end, which the template leaves out", [E], E, [P, G, U, G], extending(U, G)],
  ["nothing was sampled", [], null, [P, G, E, U, G], extending(E, U, G)],
])("%s", (_, sampled, end, rendering, expected) => {
  expect(continuation(rendering, { rendering: [P, G], sampled, end })).toEqual(expected);
});

test.each([
  ["written twice by the template", [P, G, S, E, E], true],
  ["written twice, and a newline after it", [P, G, S, E, E, N], true],
  ["written once", [P, G, S, E], false],
  ["written once, and a newline after it", [P, G, S, E, N], false],
  ["after another text", [P, G, T, E, E], false],
])("an end that is %s", (_, turnOnly, expected) => {
  expect(repeatsEnd(turnOnly, { rendering: [P, G], sampled: [S, E], end: E })).toBe(expected);
});
