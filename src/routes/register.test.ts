import { describe, expect, test } from "vitest";
import { call, freshRun, GROUP, REGISTRATION } from "../testing.ts";

const register = (run: string, field: object = {}) =>
  call("POST", `/runs/${run}/register`, { ...REGISTRATION, starting_step: 3, ...field });

describe("a trainer that resumes from a step the run hasn't come to", () => {
  test("is told where the run is", async () => {
    const run = freshRun();
    await register(run);
    await call("POST", `/runs/${run}/scored_data`, GROUP);
    await call("GET", `/runs/${run}/batch`);
    expect(await register(run, { resume_from_step: 5 })).toMatchObject({
      status: 409,
      text: expect.stringMatching(/can't go on from step 5: it is at step 4;.*starting_step 5/),
    });
    expect((await register(run, { resume_from_step: 4 })).status).toBe(200);
  });

  test("and that nobody has begun, and registers nothing", async () => {
    const run = freshRun();
    expect(await register(run, { resume_from_step: 4 })).toMatchObject({
      status: 409,
      text: expect.stringMatching(/it has not begun, and would at starting_step 3; register with starting_step 4/),
    });
    expect((await call("GET", `/runs/${run}/info`)).text).toBe('{"batch_size":-1,"max_token_len":-1}');
    expect((await register(run, { resume_from_step: 3 })).status).toBe(200);
  });
});

describe("settings that could never work are refused", () => {
  test.each([
    [{ batch_size: 4, max_queue_sequences: 3 }, ["max_queue_sequences"], 3, /3 is below batch_size 4/],
    [
      { filters: { min_mean_score: 0.5, max_mean_score: 0.25 } },
      ["filters", "min_mean_score"],
      0.5,
      /0.5 is above max_mean_score 0.25/,
    ],
  ])("%j", async (field, loc, input, message) => {
    const { status, text } = await register(freshRun(), field);
    const fault = { type: "value_error", loc: ["body", ...loc], input, msg: expect.stringMatching(message) };
    expect([status, JSON.parse(text)]).toEqual([422, { detail: [fault] }]);
  });

  test.each([
    { batch_size: 4, max_queue_sequences: 4 },
    { filters: { min_mean_score: 0.5, max_mean_score: 0.5 } },
    { filters: { min_mean_score: 0.5 } },
    { filters: { max_mean_score: -1 } },
  ])("and those at the edge aren't: %j", async (field) => {
    expect((await register(freshRun(), field)).status).toBe(200);
  });
});

test("a lease of any length ends at a whole millisecond", async () => {
  const run = freshRun();
  await register(run);
  await call("POST", `/runs/${run}/scored_data`, GROUP);
  const { lease_expires_at } = JSON.parse((await call("GET", `/runs/${run}/batch?lease=1.0005`)).text);
  expect(Number.isInteger(lease_expires_at)).toBe(true);
});
