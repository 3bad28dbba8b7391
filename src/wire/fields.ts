import { z } from "zod";

/**
 * Fields of the small request bodies, read the way the stock server's pydantic does: whole numbers also as "8" or 8.0, and
 * faults named with pydantic's types. JSON Schema sees the plain type.
 */

type Context = Parameters<Parameters<ReturnType<typeof z.unknown>["transform"]>[0]>[1];

function fault(context: Context, input: unknown, type: string, message: string): typeof z.NEVER {
  context.issues.push({ code: "custom", input, message, params: { type } });
  return z.NEVER;
}

function isMissing(value: unknown, context: Context): boolean {
  if (value !== undefined) return false;
  fault(context, value, "missing", "Field required");
  return true;
}

interface Bounds {
  readonly min?: number | undefined;
  readonly max?: number | undefined;
}

/** `value`: the number as it came, perhaps as text. */
function outOfBounds(number: number, value: unknown, context: Context, { min, max }: Bounds): boolean {
  if (min !== undefined && number < min) {
    fault(context, value, "greater_than_equal", `Input should be greater than or equal to ${min}`);
    return true;
  }
  if (max !== undefined && number > max) {
    fault(context, value, "less_than_equal", `Input should be less than or equal to ${max}`);
    return true;
  }
  return false;
}

function boundsInSchema({ min, max }: Bounds) {
  return { ...(min === undefined ? {} : { minimum: min }), ...(max === undefined ? {} : { maximum: max }) };
}

const NUMERIC = /^\s*[+-]?\d+(\.\d+)?([eE][+-]?\d+)?\s*$/;

function toNumber(value: unknown): number {
  if (typeof value === "string") return NUMERIC.test(value) ? Number(value) : Number.NaN;
  return typeof value === "number" ? value : Number.NaN;
}

/** A whole number within bounds. */
export function wholeNumber(description: string, { min, max }: Bounds = {}) {
  return z
    .unknown()
    .transform((value, context): number => {
      if (isMissing(value, context)) return z.NEVER;
      if (typeof value !== "number" && typeof value !== "string") {
        return fault(context, value, "int_type", "Input should be a valid integer");
      }
      const number = toNumber(value);
      if (Number.isNaN(number)) {
        return fault(
          context,
          value,
          "int_parsing",
          "Input should be a valid integer, unable to parse string as an integer",
        );
      }
      if (!Number.isInteger(number)) {
        return fault(
          context,
          value,
          "int_from_float",
          "Input should be a valid integer, got a number with a fractional part",
        );
      }
      if (!Number.isSafeInteger(number)) return fault(context, value, "int_parsing_size", "Input should be below 2^53");
      return outOfBounds(number, value, context, { min, max }) ? z.NEVER : number;
    })
    .meta({ type: "integer", description, ...boundsInSchema({ min, max }) });
}

/** A finite number within bounds. */
export function finiteNumber(description: string, { min, max }: Bounds = {}) {
  return z
    .unknown()
    .transform((value, context): number => {
      if (isMissing(value, context)) return z.NEVER;
      if (typeof value !== "number" && typeof value !== "string") {
        return fault(context, value, "float_type", "Input should be a valid number");
      }
      const number = toNumber(value);
      if (!Number.isFinite(number)) {
        return fault(
          context,
          value,
          "float_parsing",
          "Input should be a valid number, unable to parse string as a number",
        );
      }
      return outOfBounds(number, value, context, { min, max }) ? z.NEVER : number;
    })
    .meta({ type: "number", description, ...boundsInSchema({ min, max }) });
}

function readText(value: unknown, context: Context, maxLength: number): string {
  if (typeof value !== "string") return fault(context, value, "string_type", "Input should be a valid string");
  // A half of a character would be another one once it has been on disk. pydantic refuses it too.
  if (!value.isWellFormed()) {
    const message = "Input should be a valid string, unable to parse raw data as a unicode string";
    return fault(context, value, "string_unicode", message);
  }
  if (value.length <= maxLength) return value;
  const message = `String should have at most ${maxLength} characters, has ${value.length}`;
  return fault(context, value, "string_too_long", message);
}

/** A text of at most `maxLength` characters. */
export function text(description: string, maxLength: number) {
  return z
    .unknown()
    .transform((value, context): string => (isMissing(value, context) ? z.NEVER : readText(value, context, maxLength)))
    .meta({ type: "string", description, maxLength });
}

/** As {@link text}, or null; the key has to be there. */
export function nullableText(description: string, maxLength: number) {
  return z
    .unknown()
    .transform((value, context): string | null => {
      if (isMissing(value, context)) return z.NEVER;
      return value === null ? null : readText(value, context, maxLength);
    })
    .meta({ type: ["string", "null"], description, maxLength });
}

/**
 * An object of these fields and no others: a misspelt one would change nothing, and nobody would notice. For messages of ours
 * alone, as clients of the stock API send it more than it knows.
 */
export function onlyFields<Shape extends z.ZodRawShape>(shape: Shape) {
  const known = Object.keys(shape).join(", ");
  return z.strictObject(shape, {
    error: ({ code }) => (code === "unrecognized_keys" ? `No such field; there are: ${known}` : undefined),
  });
}
