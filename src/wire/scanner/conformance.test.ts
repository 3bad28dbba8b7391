import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { faults, scan } from "./testing.ts";

interface Step {
  request: { method: string; path: string; json?: unknown; text?: string; headers?: Record<string, string> };
  response: { status: number; body: { detail?: { type: string; loc: (string | number)[] }[] } };
  ours?: string;
}

/** Recorded with the stock server; see the README beside the file. */
const SCENARIOS: { name: string; steps: Step[] }[] = JSON.parse(
  readFileSync(new URL("../../../test/conformance/atropos-exchanges.json", import.meta.url), "utf8"),
);

/** Where a step's `ours` differs from the recorded answer: what the scanner finds. */
const OURS: Record<string, string[]> = {
  "group larger than the batch": [], // known only where the batch size is
  "token is a numeric string": ["int_parsing body.tokens.0.0"],
  "score is a boolean": ["float_type body.scores.0"],
  "lengths disagree": ["value_error body.scores"],
  "empty group": ["too_short body.tokens"],
  "score is NaN": ["finite_number body.scores.0"],
};

const posts = SCENARIOS.flatMap(({ name, steps }) =>
  steps
    .filter(({ request }) => request.path.startsWith("/scored_data") && request.headers === undefined)
    .map((step, index) => ({ name: `${name}, post ${index + 1}`, scenario: name, step })),
);

describe("the recorded exchanges", () => {
  test.each(posts)("$name", ({ scenario, step: { request, response, ours } }) => {
    const mode = request.path === "/scored_data_list" ? "list" : "group";
    const scanned = scan(mode, request.text ?? JSON.stringify(request.json));
    const recorded = (response.body.detail ?? []).map(({ type, loc }) => `${type} ${loc.join(".")}`);
    expect(faults(scanned)).toEqual(ours === undefined ? recorded : OURS[scenario]);
    expect(scanned.result.ok).toBe(faults(scanned).length === 0);
  });

  test("hold such posts", () => expect(posts.length).toBeGreaterThan(40));
});
