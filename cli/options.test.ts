import { expect, test } from "vitest";
import { decimalNumber, readArguments, readOptions, wholeNumber } from "./options.ts";
import { UsageError } from "./usage-error.ts";

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

test.each([
  ["0.5", 0.5],
  ["1e-1", 0.1],
  ["2", 2],
])("%s minutes are taken", (value, minutes) => {
  expect(decimalNumber("--minutes", value, 0.1, 60)).toBe(minutes);
});

test.each(["", "0", "-1", "61", "soon", "NaN"])("%j minutes are refused, naming option, value and range", (value) => {
  expect(() => decimalNumber("--minutes", value, 0.1, 60)).toThrow(
    `--minutes is ${JSON.stringify(value)}; give a number from 0.1 to 60`,
  );
});

const OPTIONS = {
  port: { type: "string", default: "8000" },
  name: { type: "string", short: "n", multiple: true },
  json: { type: "boolean", default: false },
  help: { type: "boolean", short: "h", default: false },
} as const;
const read = (text: string) => readOptions(text.split(" ").filter(Boolean), OPTIONS, "the help");

test.each([
  ["", {}],
  ["--port 1 --json", { port: "1", json: true }],
  ["--port=1", { port: "1" }],
  // What is wrong with it, its range tells.
  ["--port -1", { port: "-1" }],
  ["--port -.5", { port: "-.5" }],
  ["--name=--x", { name: ["--x"] }],
  ["--name= -h", { name: [""], help: true }],
  ["-n a -nb", { name: ["a", "b"] }],
  ["--name a --name b", { name: ["a", "b"] }],
])("%j is read as %j", (text, values) => {
  expect(read(text)).toEqual({ port: "8000", json: false, help: false, ...values });
});

test.each([
  ["--prot 1", "there is no option --prot"],
  ["-x", "there is no option -x"],
  ["--toString", "there is no option --toString"],
  ["--port", "--port needs a value"],
  ["--port --json", "--port needs a value, and is followed by --json; if that is the value, give --port=--json"],
  ["--port -h", "--port needs a value, and is followed by -h; if that is the value, give --port=-h"],
  ["--json=yes", "--json takes no value"],
  ["--json yes", '"yes" belongs to no option'],
])("%j is refused in one line, and the help follows", (text, line) => {
  expect(() => read(text)).toThrow(new UsageError(`${line}\n\nthe help`));
});

test("words beside the options are told from them", () => {
  const { values, positionals } = readArguments(["one", "--port", "1", "--", "--two"], OPTIONS, "");
  expect([values.port, positionals]).toEqual(["1", ["one", "--two"]]);
});

test.each([
  [["https://x:SECRET@host"], "argument 1 belongs to no option"],
  [["--json", "x:SECRET@host:port"], "argument 2 belongs to no option"],
  [["https://host/?token=SECRET"], "argument 1 belongs to no option"],
  [["eyJhbGciOiJIUzI1NiJ9.SECRET.x"], "argument 1 belongs to no option"],
  [
    ["--port", "-x:SECRET@host"],
    "--port needs a value, and is followed by argument 2; if that is the value, give --port=VALUE",
  ],
])("what may hold a token is refused by its place: %j", (args, line) => {
  expect(() => readOptions(args, OPTIONS, "the help")).toThrow(new UsageError(`${line}\n\nthe help`));
});

test.each([
  () => wholeNumber("--port", "https://x:SECRET@host", 0, 1),
  () => decimalNumber("--minutes", "https://x:SECRET@host", 0, 1),
])("a value that may hold a token isn't shown", (readValue) => {
  expect(readValue).toThrow(/^--\w+ is what may hold a token, so it isn't shown; give a /);
});
