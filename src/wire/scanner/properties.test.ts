import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { encode } from "./bytes.ts";
import { checkJson } from "./index.ts";
import { FIELDS } from "./shapes.ts";
import { characters, scan } from "./testing.ts";

const space = fc.constantFrom("", "", "", " ", "  ", "\n ", "\t");
const integer = fc.oneof(
  fc.integer({ min: -100, max: 200_000 }).map(String),
  fc.integer({ min: 0, max: 9999 }).map((value) => `${value}.0`),
  fc.constantFrom("0", "-0", "1e3", "-2.00", "-0.0", "9007199254740992", "12.5e1", "0e5"),
);
const float = fc.oneof(
  fc.double({ noNaN: true, noDefaultInfinity: true }).map(String),
  fc.double({ min: -10, max: 0, noNaN: true }).map((value) => value.toExponential()),
  fc.constantFrom("0", "-0", "-0.0", "1e-07", "1.0", "-3", "12345678901234567890123", "1E+10"),
);
const any = fc.json({ maxDepth: 3 });

/** An id is kept and read again, so it ends where doubles can tell integers apart; 2^53 is refused. */
const environmentId = integer.filter((text) => Number.isSafeInteger(Number(text)));

/** Items in a list, with white space here and there. */
function list(items: fc.Arbitrary<string>, length: { minLength?: number; maxLength?: number } = {}) {
  return fc.tuple(fc.array(items, { maxLength: 30, ...length }), space, space).map(([all, before, after]) => {
    return `[${before}${all.join(`${after},${before === "" ? " " : before}`)}${after}]`;
  });
}

const exactly = (items: fc.Arbitrary<string>, n: number) => list(items, { minLength: n, maxLength: n });
const message = fc.tuple(fc.string(), any).map(([role, content]) => {
  return `{"content": ${content}, "role": ${JSON.stringify(role)}}`;
});
const object = fc
  .dictionary(fc.string(), fc.jsonValue({ maxDepth: 2 }), { maxKeys: 3 })
  .map((value) => JSON.stringify(value));

/** A valid group's text, its keys in any order. */
const validGroup = fc
  .array(fc.nat(40), { minLength: 1, maxLength: 5 })
  .chain((lengths) => {
    const n = lengths.length;
    const rows = (items: fc.Arbitrary<string>) =>
      fc.tuple(...lengths.map((length) => exactly(items, length))).map((all) => `[${all.join(", ")}]`);
    const optional = (value: fc.Arbitrary<string>) =>
      fc.option(fc.oneof({ weight: 5, arbitrary: value }, fc.constantFrom("null", "[]")));
    return fc.tuple(
      fc.record({
        tokens: rows(integer),
        masks: rows(integer),
        scores: exactly(float, n),
        advantages: optional(rows(float)),
        ref_logprobs: optional(exactly(list(float), n)),
        messages: optional(exactly(list(message, { maxLength: 3 }), n)),
        generation_params: fc.option(fc.oneof(object, fc.constantFrom("null", "{}"))),
        inference_logprobs: optional(rows(float)),
        overrides: optional(exactly(object, n)),
        group_overrides: fc.option(object),
        images: fc.option(fc.oneof(fc.constant("null"), list(any))),
        env_id: fc.option(fc.oneof(environmentId, fc.constant("null"))),
        distill_token_ids: optional(exactly(list(list(integer), { maxLength: 3 }), n)),
        distill_logprobs: optional(exactly(list(list(float), { maxLength: 3 }), n)),
        policy_version: fc.option(fc.oneof(fc.nat().map(String), any)),
        "extra \u00e9\\n": fc.option(any),
      }),
      fc.infiniteStream(fc.nat()),
      space,
    );
  })
  .map(([fields, order, gap]) => {
    const entries = Object.entries(fields).flatMap(([key, value]) => (value === null ? [] : [{ key, value }]));
    const shuffled = entries
      .map((entry) => ({ ...entry, rank: order.next().value ?? 0 }))
      .sort((a, b) => a.rank - b.rank);
    return `{${gap}${shuffled.map(({ key, value }) => `"${key}"${gap}: ${value}`).join(`${gap},`)}${gap}}`;
  });

const bodies = fc.oneof(
  validGroup.map((text) => ({ mode: "group" as const, text })),
  fc.array(validGroup, { maxLength: 3 }).map((groups) => ({ mode: "list" as const, text: `[${groups.join(" ,")}]` })),
);

/** Valid bodies with a few bytes put in, replaced, or taken out. */
const mutated = fc
  .tuple(
    bodies,
    fc.array(
      fc.tuple(
        fc.nat(),
        fc.nat(3),
        fc.oneof(
          fc.constantFrom(...'[]{}",:.-+eE0123456789\\/unNItf \n').map((c) => encode(c)),
          fc.uint8Array({ maxLength: 3 }),
        ),
      ),
      { minLength: 1, maxLength: 4 },
    ),
  )
  .map(([{ mode, text }, edits]) => {
    let bytes = [...encode(text)];
    for (const [where, removed, added] of edits) {
      const at = where % (bytes.length + 1);
      bytes = [...bytes.slice(0, at), ...added, ...bytes.slice(at + removed)];
    }
    return { mode, bytes: new Uint8Array(bytes) };
  });

/** Enough to find what a careless change breaks; raise it with SCANNER_RUNS after a careful one. */
const { SCANNER_RUNS = "25" } = process.env;
const RUNS = Number(SCANNER_RUNS);
const TIMEOUT_MS = 60_000 + RUNS * 1000;

const cuts = fc.array(fc.nat(3000), { maxLength: 30 });
const everywhere = Array.from({ length: 5000 }, (_, at) => at);
const NUMBER = /-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g;

describe("the scanner", { timeout: TIMEOUT_MS }, () => {
  test("gives the same for every way to cut a valid body", () => {
    fc.assert(
      fc.property(bodies, cuts, ({ mode, text }, at) => {
        const whole = scan(mode, text);
        expect(whole.result).toMatchObject({ ok: true });
        expect(scan(mode, text, { cuts: at })).toEqual(whole);
        expect(scan(mode, text, { cuts: everywhere })).toEqual(whole);
      }),
      { numRuns: RUNS },
    );
  });

  test("gives the same for every way to cut a faulty body", () => {
    fc.assert(
      fc.property(mutated, cuts, ({ mode, bytes }, at) => {
        const { result } = scan(mode, bytes);
        expect(scan(mode, bytes, { cuts: at }).result).toEqual(result);
        expect(scan(mode, bytes, { cuts: everywhere }).result).toEqual(result);
      }),
      { numRuns: 2 * RUNS },
    );
  });

  test("delivers what came, plus nulls", () => {
    fc.assert(
      fc.property(validGroup, (text) => {
        const delivered = characters(scan("group", text).texts[0] ?? "");
        const nulls = Object.fromEntries(FIELDS.map(({ name }) => [name, null]));
        const negativeZeros = (value: unknown) => JSON.stringify(value);
        const [given, got] = [JSON.parse(text), JSON.parse(delivered)];
        expect(Object.keys(got).sort()).toEqual(Object.keys({ ...nulls, ...given }).sort());
        for (const key of Object.keys(got)) expect(negativeZeros(got[key])).toBe(negativeZeros(given[key] ?? null));
      }),
      { numRuns: RUNS },
    );
  });

  test("keeps the spelling of numbers but for the two rewrites", () => {
    fc.assert(
      fc.property(validGroup, (text) => {
        const delivered = characters(scan("group", text).texts[0] ?? "");
        const strings = /"(?:[^"\\]|\\.)*"/g;
        const [given, got] = [text, delivered].map((body) => body.replace(strings, '""').match(NUMBER) ?? []);
        expect(got?.length).toBe(given?.length);
        given?.forEach((spelling, index) => {
          const point = /^-?\d+$/.test(spelling) ? `${spelling}.0` : spelling;
          const value = Number(spelling);
          const whole =
            Number.isInteger(value) && Math.abs(value) <= 2 ** 53 ? [String(value), `${Math.trunc(value)}`] : [];
          const dropped = spelling.replace(/\.0+$/, "");
          expect([spelling, point, dropped, ...whole]).toContain(got?.[index]);
        });
      }),
      { numRuns: RUNS },
    );
  });

  test("accepts only JSON", () => {
    fc.assert(
      fc.property(mutated, ({ mode, bytes }) => {
        const { result, texts } = scan(mode, bytes);
        if (!result.ok) return;
        JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
        for (const text of texts) JSON.parse(characters(text));
      }),
      { numRuns: 6 * RUNS },
    );
  });

  test("never throws on garbage", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        expect(scan("group", bytes).result.ok).toBe(false);
      }),
    );
  });

  test("accepts all JSON in a field it doesn't know", () => {
    fc.assert(
      fc.property(fc.json({ maxDepth: 6 }), cuts, (value, at) => {
        const text = `{"tokens": [[1]], "extra": ${value}, "masks": [[1]], "scores": [1.0]}`;
        const { result, texts } = scan("group", text, { cuts: at });
        expect(result.ok).toBe(true);
        expect(characters(texts[0] ?? "")).toContain(`"extra": ${value}, `);
      }),
      { numRuns: RUNS },
    );
  });
});

describe("checkJson", { timeout: TIMEOUT_MS }, () => {
  test("agrees with JSON.parse", () => {
    const pieces = fc.constantFrom(...'[]{}",:.-+eE01\\u tn', "true", "null", '"a"', "1.5", '{"k":', "é", '"\\u00');
    const texts = fc.oneof(
      fc.json(),
      fc.array(pieces, { maxLength: 8 }).map((all) => all.join("")),
    );
    fc.assert(
      fc.property(texts, (text) => {
        expect(checkJson(text) === null).toBe(parses(text));
      }),
      { numRuns: 50 * RUNS },
    );
  });
});

function parses(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
