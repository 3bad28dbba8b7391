import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { z } from "zod";
import { JsonlError, parseJsonl } from "./jsonl.ts";

const schema = z.object({
  question: z.string().min(1),
  level: z.int().default(1),
  of: z.object({ tags: z.array(z.string()) }).optional(),
});
const read = (text: string) => parseJsonl(text, schema, "train.jsonl");

describe("rows", () => {
  test.each([
    { name: "one a line", text: '{"question":"a"}\n{"question":"b","level":2}', questions: ["a", "b"] },
    { name: "with a newline at the end", text: '{"question":"a"}\n', questions: ["a"] },
    { name: "with Windows line ends", text: '{"question":"a"}\r\n{"question":"b"}\r\n', questions: ["a", "b"] },
    { name: "with empty lines", text: '\n{"question":"a"}\n  \n{"question":"b"}', questions: ["a", "b"] },
    { name: "after a byte order mark", text: '\uFEFF{"question":"a"}', questions: ["a"] },
    { name: "with other separators inside", text: '{"question":"a\u2028b"}', questions: ["a\u2028b"] },
  ])("$name", ({ text, questions }) => {
    expect(read(text).map(({ question }) => question)).toEqual(questions);
  });

  test("defaults of the schema are filled in", () => {
    expect(read('{"question":"a"}')).toEqual([{ question: "a", level: 1 }]);
  });

  test("whatever JSON can write comes back", () => {
    fc.assert(
      fc.property(fc.array(fc.jsonValue(), { minLength: 1 }), (values) => {
        const text = values.map((value) => JSON.stringify(value)).join("\n");
        expect(parseJsonl(text, z.unknown(), "any")).toEqual(values.map((value) => JSON.parse(JSON.stringify(value))));
      }),
    );
  });
});

describe("faults", () => {
  test.each([
    { text: '{"question":"a"}\n\n{"question":5}', line: 3, message: "train.jsonl, line 3: question is 5: " },
    { text: '{"level":1}', line: 1, message: "line 1: question is missing: " },
    { text: '{"question":""}', line: 1, message: 'question is "": ' },
    { text: '{"question":"a","of":{"tags":["x",7]}}', line: 1, message: "of.tags.1 is 7: " },
    { text: '{"question":"a","level":"x","of":1}', line: 1, message: 'level is "x"' },
    { text: "[1]", line: 1, message: "the row is [1]: " },
    { text: '{"question":"a"}\n{"question"', line: 2, message: 'line 2: this is no JSON: {"question"' },
    { text: "", line: 1, message: "there are no rows" },
    { text: "\n\n", line: 1, message: "there are no rows" },
  ])("$text", ({ text, line, message }) => {
    expect(() => read(text)).toThrow(JsonlError);
    expect(() => read(text)).toThrow(expect.objectContaining({ line, message: expect.stringContaining(message) }));
  });

  test("a long value is shown in part", () => {
    expect(() => read(`{"question":${"9".repeat(500)}}`)).toThrow(/^.{1,250}$/s);
  });
});
