import { describe, expect, test } from "vitest";
import { checkJson } from "./index.ts";

describe("checkJson", () => {
  /** What Python 3.11's json.loads says: message and position in characters. */
  const cases: [text: string, position: number, message: string][] = [
    ["", 0, "Expecting value"],
    ["  ", 2, "Expecting value"],
    ["{", 1, "Expecting property name enclosed in double quotes"],
    ["{not json", 1, "Expecting property name enclosed in double quotes"],
    ["{,}", 1, "Expecting property name enclosed in double quotes"],
    ["{1:2}", 1, "Expecting property name enclosed in double quotes"],
    ['{"a"', 4, "Expecting ':' delimiter"],
    ['{"a" 1}', 5, "Expecting ':' delimiter"],
    ['{"a":', 5, "Expecting value"],
    ['{"a":1', 6, "Expecting ',' delimiter"],
    ['{"a":1,', 7, "Expecting property name enclosed in double quotes"],
    ['{"a":1,}', 7, "Expecting property name enclosed in double quotes"],
    ['{"a":1, x', 8, "Expecting property name enclosed in double quotes"],
    ["[", 1, "Expecting value"],
    ["[,]", 1, "Expecting value"],
    ["[1", 2, "Expecting ',' delimiter"],
    ["[1,", 3, "Expecting value"],
    ["[1,]", 3, "Expecting value"],
    ["[1 2]", 3, "Expecting ',' delimiter"],
    ["1 2", 2, "Extra data"],
    ["01", 1, "Extra data"],
    ["1.", 1, "Extra data"],
    ["[1.x]", 2, "Expecting ',' delimiter"],
    ["[1e+]", 2, "Expecting ',' delimiter"],
    ["[1.5e,", 4, "Expecting ',' delimiter"],
    ["[-]", 1, "Expecting value"],
    ["[-", 1, "Expecting value"],
    ["[-I]", 1, "Expecting value"],
    ["-Inf", 0, "Expecting value"],
    ["tru", 0, "Expecting value"],
    ["nulL", 0, "Expecting value"],
    ['["é", "é', 6, "Unterminated string starting at"],
    ['"ab', 0, "Unterminated string starting at"],
    ['"\\', 0, "Unterminated string starting at"],
    ['"\\x"', 1, "Invalid \\escape"],
    ['"\\u12', 2, "Invalid \\uXXXX escape"],
    ['"\\u12x4"', 2, "Invalid \\uXXXX escape"],
    ['"\u0001"', 1, "Invalid control character at"],
    ['["é", "語", "😀",x', 15, "Expecting value"],
  ];
  test.each(cases)("%j at %i: %s", (text, position, message) => {
    expect(checkJson(text)).toEqual({
      type: "json_invalid",
      loc: ["body", position],
      msg: "JSON decode error",
      ctx: { error: message },
    });
  });

  test("names the place of NaN", () => {
    expect(checkJson('{"weight": [NaN]}')).toMatchObject({ type: "finite_number", loc: ["body", "weight", 0] });
  });

  test.each(["1", "-0.5e+3 ", '"\\ud800"', "[]", '{"":{}}', "null", '[true, false, "\\u00e9/\\/"]'])(
    "accepts %s",
    (text) => {
      expect(checkJson(text)).toBeNull();
    },
  );
});
