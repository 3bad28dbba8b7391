import { describe, expect, test } from "vitest";
import { encode } from "./bytes.ts";
import { GroupScanner } from "./index.ts";
import { FIELDS } from "./shapes.ts";
import { CollectingSink, faults, scan } from "./testing.ts";

const GOOD = '{"tokens": [[1, 2], [3]], "masks": [[-100, 2], [3]], "scores": [0.5, 1.0]}';
const nulls = (...present: string[]) =>
  FIELDS.filter(({ name }) => !present.includes(name))
    .map(({ name }) => `, "${name}": null`)
    .join("");
const REQUIRED = ["tokens", "masks", "scores"];

/** A group of one sequence of one token, with more fields or other ones. */
function group(fields: Record<string, string> = {}): string {
  const all = { tokens: "[[1]]", masks: "[[1]]", scores: "[0.0]", ...fields };
  return `{${Object.entries(all)
    .map(([name, value]) => `"${name}": ${value}`)
    .join(", ")}}`;
}

describe("a good group", () => {
  test("keeps its text and gets the missing fields", () => {
    const { result, texts, envelopes } = scan("group", ` ${GOOD}\n`);
    expect(result).toEqual({ ok: true, groups: 1 });
    expect(texts).toEqual([`${GOOD.slice(0, -1)}${nulls(...REQUIRED)}}`]);
    expect(envelopes).toEqual([
      {
        sequences: 2,
        tokens: 3,
        environment: null,
        policyVersion: null,
        longest: 2,
        scores: { mean: 0.75, min: 0.5, max: 1 },
        bytes: texts[0]?.length,
      },
    ]);
  });

  test("tells its environment and policy version", () => {
    const { envelopes } = scan("group", group({ env_id: "3.0", policy_version: "12" }));
    expect(envelopes[0]).toMatchObject({ environment: 3, policyVersion: 12 });
    for (const version of ["1.5", '"12"', "null", "[7]", '{"policy_version": 7}', "1e30", "12.0"]) {
      expect(scan("group", group({ policy_version: version })).envelopes[0]?.policyVersion, version).toBeNull();
    }
  });

  test("may spell its keys in escapes", () => {
    const { result } = scan("group", group().replace("tokens", "\\u0074ok\\u0065ns"));
    expect(result.ok).toBe(true);
  });

  test("in a list stands without the list's brackets and commas", () => {
    const { result, texts } = scan("list", `[ ${GOOD} , ${group()}]`);
    expect(result).toEqual({ ok: true, groups: 2 });
    expect(texts.map((text) => text.slice(0, 22))).toEqual([GOOD.slice(0, 22), group().slice(0, 22)]);
  });

  test("an empty list has no groups", () => expect(scan("list", "[]").result).toEqual({ ok: true, groups: 0 }));
  test("a byte order mark is passed over", () => {
    const marked = new Uint8Array([0xef, 0xbb, 0xbf, ...encode(GOOD)]);
    expect(scan("group", marked).texts).toEqual(scan("group", GOOD).texts);
  });
});

describe("accepted and delivered as", () => {
  const cases: [field: string, given: string, delivered: string][] = [
    ["tokens", "[[5.0]]", "[[5]]"],
    ["tokens", "[[1e3]]", "[[1000]]"],
    ["tokens", "[[-2.00]]", "[[-2]]"],
    ["tokens", "[[-0.0]]", "[[0]]"],
    ["tokens", "[[9007199254740992]]", "[[9007199254740992]]"],
    ["tokens", "[[-9007199254740992.0]]", "[[-9007199254740992]]"],
    ["tokens", "[[0]]", "[[0]]"],
    ["masks", "[[1E0]]", "[[1]]"],
    ["scores", "[0]", "[0.0]"],
    ["scores", "[-3]", "[-3.0]"],
    ["scores", "[-0]", "[-0.0]"],
    ["scores", "[-0.0]", "[-0.0]"],
    ["scores", "[1e-07]", "[1e-07]"],
    ["scores", "[1e308]", "[1e308]"],
    ["scores", "[12345678901234567890]", "[12345678901234567890.0]"],
    ["advantages", "[[0, 1.50, -1e+2]]", "[[0.0, 1.50, -1e+2]]"],
    ["advantages", "[]", "[]"],
    ["advantages", "null", "null"],
    ["ref_logprobs", "[[ ]]", "[[ ]]"],
    ["inference_logprobs", "[[1]]", "[[1.0]]"],
    ["messages", '[[{"role":"user","content":null,"more":[1]}]]', '[[{"role":"user","content":null,"more":[1]}]]'],
    ["messages", "[[]]", "[[]]"],
    ["messages", "[]", "[]"],
    ["generation_params", "{}", "{}"],
    ["generation_params", '{"n": 1, "t": 5.0}', '{"n": 1, "t": 5.0}'],
    ["generation_params", "null", "null"],
    ["overrides", '[{"a": [1, 2.0]}]', '[{"a": [1, 2.0]}]'],
    ["overrides", "[]", "[]"],
    ["group_overrides", "{}", "{}"],
    ["images", '"any"', '"any"'],
    ["images", "[null]", "[null]"],
    ["images", "[]", "[]"],
    ["images", "[1, 2]", "[1, 2]"],
    ["env_id", "null", "null"],
    ["env_id", "7.0", "7"],
    ["env_id", "9007199254740991", "9007199254740991"],
    ["distill_token_ids", "[[[], [1.0, 2]]]", "[[[], [1, 2]]]"],
    ["distill_logprobs", "[[[], [0, -2.5]]]", "[[[], [0.0, -2.5]]]"],
    ["extra", '[1, 2.0, "x", {"tokens": 1e999}]', '[1, 2.0, "x", {"tokens": 1e999}]'],
  ];
  test.each(cases)("%s %s as %s", (field, given, delivered) => {
    const { result, texts } = scan("group", group({ [field]: given }));
    expect(result).toEqual({ ok: true, groups: 1 });
    expect(texts[0]).toBe(`${group({ [field]: delivered }).slice(0, -1)}${nulls(...REQUIRED, field)}}`);
  });

  test("in the hot loops too", () => {
    const tail = Array(50).fill("7").join(", ");
    const tokens = `[[5.0, 6.000,7.0 , ${tail}]]`;
    const masks = `[[-100, -0.0,\n 1e1, ${tail}]]`;
    const logprobs = `[[1, -0, 0.5, 1e5, 12e100, 123456789012345678901234567890123, ${tail}]]`;
    const { texts } = scan("group", group({ tokens, masks, inference_logprobs: logprobs }));
    expect(texts[0]).toContain(`"tokens": [[5, 6,7 , ${tail}]]`);
    expect(texts[0]).toContain(`"masks": [[-100, 0,\n 10, ${tail}]]`);
    const floats = tail.replaceAll("7", "7.0");
    expect(texts[0]).toContain(`[[1.0, -0.0, 0.5, 1e5, 12e100, 123456789012345678901234567890123.0, ${floats}]]`);
  });
});

describe("refused", () => {
  const cases: [field: string, value: string, fault: string, says: string][] = [
    ["tokens", '[["a"]]', "int_parsing tokens.0.0", 'tokens[0][0] is "a"'],
    ["tokens", '[["5"]]', "int_parsing tokens.0.0", 'tokens[0][0] is "5"'],
    ["tokens", "[[1.5]]", "int_from_float tokens.0.0", "tokens[0][0] is 1.5"],
    ["tokens", "[[1e-1]]", "int_from_float tokens.0.0", "tokens[0][0] is 0.1"],
    ["tokens", "[[null]]", "int_type tokens.0.0", "tokens[0][0] is null"],
    ["tokens", "[[true]]", "int_type tokens.0.0", "tokens[0][0] is true"],
    ["tokens", "[[[1]]]", "int_type tokens.0.0", "tokens[0][0] is a list"],
    ["tokens", "[[{}]]", "int_type tokens.0.0", "tokens[0][0] is an object"],
    ["tokens", "[[9007199254740993]]", "less_than_equal tokens.0.0", "tokens[0][0] is 9007199254740993"],
    ["tokens", "[[-1e300]]", "greater_than_equal tokens.0.0", "tokens[0][0] is -1e300"],
    ["tokens", "[[NaN]]", "finite_number tokens.0.0", "tokens[0][0] is NaN"],
    ["tokens", "[1]", "list_type tokens.0", "tokens[0] is 1"],
    ["tokens", "1", "list_type tokens", "tokens is 1"],
    ["tokens", "null", "list_type tokens", "tokens is null"],
    ["tokens", "{}", "list_type tokens", "tokens is an object"],
    ["tokens", "[null]", "list_type tokens.0", "tokens[0] is null"],
    ["scores", "[null]", "float_type scores.0", "scores[0] is null"],
    ["scores", "[true]", "float_type scores.0", "scores[0] is true"],
    ["scores", '["0.5"]', "float_parsing scores.0", 'scores[0] is "0.5"'],
    ["scores", "[[0.5]]", "float_type scores.0", "scores[0] is a list"],
    ["scores", "[NaN]", "finite_number scores.0", "scores[0] is NaN"],
    ["scores", "[-Infinity]", "finite_number scores.0", "scores[0] is -Infinity"],
    ["scores", "[1e999]", "finite_number scores.0", "scores[0] is 1e999"],
    ["inference_logprobs", "[[Infinity]]", "finite_number inference_logprobs.0.0", "is Infinity"],
    ["inference_logprobs", `[[1${"0".repeat(400)}]]`, "finite_number inference_logprobs.0.0", "100000"],
    ["inference_logprobs", `[[${"0.".padEnd(3000, "0")}]]`, "value_error inference_logprobs.0.0", "3000 characters"],
    ["advantages", "[null]", "list_type advantages.0", "advantages[0] is null"],
    ["advantages", "{}", "list_type advantages", "advantages is an object"],
    ["messages", '[["hello"]]', "dict_type messages.0.0", 'messages[0][0] is "hello"'],
    ["messages", '[[{"role": "user"}]]', "value_error messages", "Message must have 'role' and 'content' fields"],
    ["messages", '[[{"content": ""}, {}]]', "value_error messages", "Message must have 'role' and 'content' fields"],
    ["messages", '[[{"x": {"role": 1, "content": 2}}]]', "value_error messages", "Message must have"],
    ["generation_params", "[]", "dict_type generation_params", "generation_params is a list"],
    ["generation_params", '{"top_p": NaN}', "finite_number generation_params.top_p", "generation_params.top_p is NaN"],
    ["overrides", "[1]", "dict_type overrides.0", "overrides[0] is 1"],
    ["overrides", "[null]", "dict_type overrides.0", "overrides[0] is null"],
    ["group_overrides", '"x"', "dict_type group_overrides", 'group_overrides is "x"'],
    ["images", "[-Infinity]", "finite_number images.0", "images[0] is -Infinity"],
    ["env_id", '"3"', "int_parsing env_id", 'env_id is "3"'],
    ["env_id", "9007199254740992", "less_than_equal env_id", "env_id is 9007199254740992"],
    ["env_id", "-9007199254740992.0", "greater_than_equal env_id", "or equal to -9007199254740991"],
    ["env_id", "false", "int_type env_id", "env_id is false"],
    ["extra", '{"a": [0, {"b": NaN}]}', "finite_number extra.a.1.b", "extra.a[1].b is NaN"],
    ["distill_token_ids", "[[1]]", "list_type distill_token_ids.0.0", "distill_token_ids[0][0] is 1"],
    ["masks", "[[1], [2]]", "value_error masks", "masks has length 2 but tokens has length 1"],
    ["masks", "[[1, 2]]", "value_error masks.0", "masks[0] has length 2 but tokens[0] has length 1"],
    ["scores", "[]", "value_error scores", "scores has length 0 but tokens has length 1"],
    ["advantages", "[[0.5], [0.5]]", "value_error advantages", "advantages has length 2 but tokens has length 1"],
    ["messages", "[[], []]", "value_error messages", "messages has length 2 but tokens has length 1"],
    ["distill_logprobs", "[[], []]", "value_error distill_logprobs", "distill_logprobs has length 2"],
  ];
  test.each(cases)("%s %s", (field, value, fault, says) => {
    const single = scan("group", group({ [field]: value }));
    expect(faults(single)).toEqual([`${fault.replace(" ", " body.")}`]);
    expect(single.result.ok ? "" : single.result.errors[0]?.msg).toContain(says);
    const list = scan("list", `[${GOOD}, ${group({ [field]: value })}]`);
    expect(faults(list)).toEqual([`${fault.replace(" ", " body.1.")}`]);
  });

  test("shows small inputs and cuts long ones", () => {
    const input = (value: string) => {
      const { result } = scan("group", group({ scores: `[${value}]` }));
      return result.ok ? null : result.errors[0]?.input;
    };
    expect(input('"a\\u0062\\n"')).toBe("ab\n");
    expect(input(`"${"x".repeat(1000)}"`)).toBe(`${"x".repeat(64)}…`);
    expect(input("null")).toBe(null);
    expect(input("[1]")).toBe(undefined);
  });

  test("a group without sequences", () => {
    const empty = group({ tokens: "[]", masks: "[]", scores: "[]" });
    expect(faults(scan("group", empty))).toEqual(["too_short body.tokens"]);
  });

  test("missing fields, after what else is wrong", () => {
    expect(faults(scan("list", `[${GOOD}, {"tokens": 1}]`))).toEqual([
      "list_type body.1.tokens",
      "missing body.1.masks",
      "missing body.1.scores",
    ]);
    expect(faults(scan("group", "{}"))).toEqual(["missing body.tokens", "missing body.masks", "missing body.scores"]);
  });

  test("a known field that stands twice", () => {
    const twice = `${GOOD.slice(0, -1)}, "scores": [1.0, 2.0]}`;
    expect(faults(scan("group", twice))).toEqual(["value_error body.scores"]);
    const escaped = `${GOOD.slice(0, -1)}, "score\\u0073": [1.0, 2.0]}`;
    expect(faults(scan("group", escaped))).toEqual(["value_error body.scores"]);
    expect(scan("group", `${GOOD.slice(0, -1)}, "x": 1, "x": 2}`).result.ok).toBe(true);
  });

  test("bodies of the wrong kind", () => {
    for (const body of ["5", "[]", '"x"', "true", "null"]) {
      expect(faults(scan("group", body)), body).toEqual(["model_attributes_type body"]);
    }
    for (const body of ["5", "{}", '"x"', "null"]) expect(faults(scan("list", body)), body).toEqual(["list_type body"]);
    expect(faults(scan("list", `[${GOOD}, 1, []]`))).toEqual([
      "model_attributes_type body.1",
      "model_attributes_type body.2",
    ]);
    expect(faults(scan("group", "NaN"))).toEqual(["finite_number body"]);
  });

  test("text that is not JSON, with that error alone", () => {
    expect(scan("group", '{"tokens": 1, x}').result).toEqual({
      ok: false,
      errors: [
        {
          type: "json_invalid",
          loc: ["body", 14],
          msg: "JSON decode error",
          ctx: { error: "Expecting property name enclosed in double quotes" },
        },
      ],
    });
    expect(faults(scan("group", ""))).toEqual(["json_invalid body.0"]);
    expect(faults(scan("group", `${GOOD} ${GOOD}`))).toEqual([`json_invalid body.${GOOD.length + 1}`]);
  });
});

describe("limits", () => {
  test("errors stop at the limit", () => {
    const bad = group({ tokens: `[[${Array(100).fill("null").join(", ")}]]` });
    expect(faults(scan("group", bad))).toHaveLength(20);
    expect(faults(scan("group", bad, { maxErrors: 3 }))).toHaveLength(3);
    expect(faults(scan("group", `${bad} garbage`, { maxErrors: 3 }))[0]).toBe("int_type body.tokens.0.0");
  });

  test("sequences", () => {
    expect(scan("group", GOOD, { maxSequences: 2 }).result.ok).toBe(true);
    expect(faults(scan("group", GOOD, { maxSequences: 1 }))).toEqual(["too_long body.tokens"]);
  });

  test("groups", () => {
    expect(scan("list", `[${GOOD}, ${GOOD}]`, { maxGroups: 2 }).result.ok).toBe(true);
    expect(faults(scan("list", `[${GOOD}, ${GOOD}]`, { maxGroups: 1 }))).toEqual(["too_long body"]);
  });

  test("nesting", () => {
    const nested = (depth: number) => group({ extra: "[".repeat(depth) + "]".repeat(depth) });
    expect(scan("group", nested(63)).result.ok).toBe(true);
    const { result } = scan("group", nested(64));
    expect(result.ok ? null : result.errors[0]?.ctx).toEqual({ error: "Nested deeper than 64 levels" });
  });

  test("the sink hears nothing after an error", () => {
    const sink = new CollectingSink();
    const scanner = new GroupScanner("list", sink);
    scanner.push(encode(`[${GOOD}, {"tokens": 1`));
    expect(scanner.failed).toBe(false);
    scanner.push(encode("}"));
    expect(scanner.failed).toBe(true);
    scanner.push(encode(`, ${GOOD}]`));
    expect(scanner.end().ok).toBe(false);
    expect(sink.texts).toHaveLength(1);
  });

  test("nothing held grows with the body", () => {
    const scanner = new GroupScanner("group", { groupStart() {}, write() {}, groupEnd() {} });
    const chunk = encode(`${'"word", [0.5, {"k": 1e5}], '.repeat(1000)}`);
    scanner.push(encode('{"extra": ['));
    scanner.push(chunk);
    const before = size(scanner);
    for (let round = 0; round < 50; round++) scanner.push(chunk);
    expect(size(scanner)).toBe(before);
    expect(before).toBeLessThan(8192);
  });
});

/** Bytes in the buffers, and 8 for each slot of the arrays and field, that an object holds. */
function size(value: unknown, seen = new Set<unknown>()): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null || seen.has(value)) return 8;
  seen.add(value);
  if (ArrayBuffer.isView(value)) return value.byteLength;
  return Object.values(value).reduce<number>((sum, part) => sum + size(part, seen), 8);
}
