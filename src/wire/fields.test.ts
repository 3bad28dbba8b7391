import { describe, expect, test } from "vitest";
import { z } from "zod";
import { ApiError } from "./api-error.ts";
import { finiteNumber, nullableText, text, wholeNumber } from "./fields.ts";
import { jsonBody, optionalJsonBody, validate } from "./json-body.ts";

/** The value a field reads, or the type of the fault it finds. */
function read(field: z.ZodType, value: unknown): unknown {
  try {
    return validate(value === undefined ? {} : { field: value }, z.object({ field }), "body");
  } catch (error) {
    if (!(error instanceof ApiError) || typeof error.detail === "string") throw error;
    expect(error.status).toBe(422);
    expect(error.detail).toHaveLength(1);
    expect(error.detail[0]?.loc).toEqual(["body", "field"]);
    return error.detail[0]?.type;
  }
}

const whole = wholeNumber("a count", { min: 0, max: 10 });
const anyWhole = wholeNumber("a count");
const finite = finiteNumber("a share", { min: 0, max: 1 });

describe("a whole number", () => {
  test.each([
    [8, { field: 8 }],
    [8.0, { field: 8 }],
    ["8", { field: 8 }],
    [" 8 ", { field: 8 }],
    ["8.0", { field: 8 }],
    [0, { field: 0 }],
    [10, { field: 10 }],
    [undefined, "missing"],
    [null, "int_type"],
    [[8], "int_type"],
    [{}, "int_type"],
    ["eight", "int_parsing"],
    ["", "int_parsing"],
    ["0x8", "int_parsing"],
    [8.5, "int_from_float"],
    [-1, "greater_than_equal"],
    [11, "less_than_equal"],
  ])("%j", (value, expected) => expect(read(whole, value)).toEqual(expected));

  test("is no longer than a JavaScript number holds exactly", () => {
    expect(read(anyWhole, 2 ** 53 - 1)).toEqual({ field: 2 ** 53 - 1 });
    expect(read(anyWhole, 2 ** 53)).toBe("int_parsing_size");
    expect(read(anyWhole, -3)).toEqual({ field: -3 });
  });
});

test.each([
  [0.5, { field: 0.5 }],
  ["0.5", { field: 0.5 }],
  ["5e-1", { field: 0.5 }],
  [1, { field: 1 }],
  [undefined, "missing"],
  [null, "float_type"],
  [[], "float_type"],
  ["half", "float_parsing"],
  ["", "float_parsing"],
  ["NaN", "float_parsing"],
  ["1e999", "float_parsing"],
  [-0.1, "greater_than_equal"],
  [1.1, "less_than_equal"],
])("a finite number: %j", (value, expected) => expect(read(finite, value)).toEqual(expected));

test.each([
  ["abc", { field: "abc" }, { field: "abc" }],
  ["", { field: "" }, { field: "" }],
  ["abcd", "string_too_long", "string_too_long"],
  ["𝄞é", { field: "𝄞é" }, { field: "𝄞é" }],
  ["a\ud834", "string_unicode", "string_unicode"],
  [3, "string_type", "string_type"],
  [null, "string_type", { field: null }],
  [undefined, "missing", "missing"],
])("a text of at most 3 characters, and a nullable one: %j", (value, plain, nullable) => {
  expect(read(text("a name", 3), value)).toEqual(plain);
  expect(read(nullableText("a name", 3), value)).toEqual(nullable);
});

describe("a JSON body", () => {
  const schema = z.object({ field: whole });
  const post = (body: string) => new Request("http://lachesis/", { method: "POST", body });
  const failure = (body: string) =>
    jsonBody(post(body), schema).then(
      () => "read",
      (error: unknown) => error,
    );

  test("is read", async () => expect(await jsonBody(post('{"field":"3"}'), schema)).toEqual({ field: 3 }));

  test.each([
    ["that is missing", "", "missing", ["body"]],
    ["that is not JSON", '{"field":', "json_invalid", ["body", 9]],
    ["that is no object", "[]", "model_attributes_type", ["body"]],
    ["without its field", "{}", "missing", ["body", "field"]],
  ])("%s is a 422 that says where", async (_what, body, type, loc) => {
    expect(await failure(body)).toMatchObject({ status: 422, detail: [{ type, loc }] });
  });

  test("of more than 64 KiB is a 413", async () => {
    const detail = "the body is larger than 64 KiB (decoded): that is this route's limit";
    expect(await failure(`{"field":3${" ".repeat(65_536)}}`)).toMatchObject({ status: 413, detail });
  });

  test("that is optional may be missing, and is checked when it is there", async () => {
    expect(await optionalJsonBody(new Request("http://lachesis/"), schema)).toBeNull();
    await expect(optionalJsonBody(post('{"field":-1}'), schema)).rejects.toMatchObject({ status: 422 });
  });
});
