import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { decode, encode, SPECIAL_ID, tokenText } from "./tokenizer.ts";
import { VOCABULARY } from "./vocabulary.ts";

const text = fc.string({ unit: "grapheme" });
/** Texts in which known words, numbers and marks come often, whole and broken. */
const pieces = fc
  .array(fc.oneof(fc.constantFrom(...VOCABULARY), fc.constantFrom(" ", "\t", "é", "\ufeff", "7", "x"), text))
  .map((parts) => parts.join(""));

test("the vocabulary is small, and no token stands twice", () => {
  expect(VOCABULARY.length).toBeLessThanOrEqual(400);
  expect(new Set(VOCABULARY).size).toBe(VOCABULARY.length);
});

describe("decoding gives back", () => {
  test.each([{}, { special: true }])("any text, encoded with %o", (options) => {
    fc.assert(fc.property(fc.oneof(text, pieces), (given) => decode(encode(given, options)) === given));
  });

  test("a text in which every byte is spelled", () => {
    const given = "naïve 😀 \u0000\u007f 数";
    expect(decode(encode(given))).toBe(given);
  });
});

test("without leave no text becomes a special token", () => {
  const special: readonly number[] = Object.values(SPECIAL_ID);
  fc.assert(fc.property(pieces, (given) => !encode(given).some((id) => special.includes(id))));
});

describe("pieces", () => {
  test.each([
    { given: "Mia has 3 pears.", tokens: ["Mia", " has", " ", "3", " pears", "."] },
    { given: "How many?", tokens: ["How", " many", "?"] },
    { given: " Mia", tokens: [" Mia"] },
    { given: "pears", tokens: ["p", "e", "a", "r", "s"] },
    { given: " zebra", tokens: [" ", "z", "e", "b", "r", "a"] },
    { given: " pearsx", tokens: [" ", "p", "e", "a", "r", "s", "x"] },
    { given: "0 10 99", tokens: ["0", " ", "10", " ", "99"] },
    { given: "100 07", tokens: ["1", "0", "0", " ", "0", "7"] },
    { given: "b12", tokens: ["b", "1", "2"] },
    { given: "12b", tokens: ["1", "2", "b"] },
    { given: "\\boxed{12}", tokens: ["\\boxed{", "12", "}"] },
    { given: "<answer>5</answer>", tokens: ["<answer>", "5", "</answer>"] },
    { given: "é", tokens: ["<0xC>", "<0x3>", "<0xA>", "<0x9>"] },
  ])("of $given", ({ given, tokens }) => {
    expect(encode(given).map(tokenText)).toEqual(tokens);
  });
});

test("special tokens are read where they are allowed, and left out where they are skipped", () => {
  const ids = encode("<|user|>5<|end|>", { special: true });
  expect(ids).toEqual([SPECIAL_ID.user, ...encode("5"), SPECIAL_ID.end]);
  expect(decode(ids, { skipSpecial: true })).toBe("5");
});

test.each([
  { tokens: ["<0xC>"], decoded: "\ufffd" },
  { tokens: ["<0xC>", "<0x3>"], decoded: "\ufffd" },
  { tokens: ["<0x4>", "a"], decoded: "\ufffda" },
])("bytes that make no character: $tokens", ({ tokens, decoded }) => {
  expect(decode(tokens.map((token) => VOCABULARY.indexOf(token)))).toBe(decoded);
});

test.each([VOCABULARY.length, -1, 0.5])("refuses the id %s", (id) => {
  expect(() => decode([id])).toThrow(/there is no token/);
});
