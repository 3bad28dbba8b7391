import { expect, test } from "vitest";
import { readOptions, wholeNumber } from "./options.ts";

test.each([
  ["8000", 8000],
  ["0", 0],
  ["65535", 65_535],
])("a port of %s is taken", (value, port) => {
  expect(wholeNumber("--port", value, 0, 65_535)).toBe(port);
});

test.each(["-1", "65536", "8e3", "80.5", "", "http"])(
  "a port of %j is refused, naming option, value and range",
  (value) => {
    expect(() => wholeNumber("--port", value, 0, 65_535)).toThrow(
      `--port is ${JSON.stringify(value)}; give a whole number from 0 to 65535`,
    );
  },
);

test("an option that doesn't exist is named, and the help follows", () => {
  expect(() => readOptions(["--prot", "1"], { port: { type: "string" } }, "the help")).toThrow(/--prot[\s\S]*the help/);
});
