import type { Shape } from "./shapes.ts";
import type { Location, ScanError } from "./types.ts";

/** What stands where something else was wanted. */
export type Found = "string" | "number" | "boolean" | "null" | "list" | "object";
/** A scalar as an error shows it; undefined: too large to show. */
export type Shown = string | number | boolean | null | undefined;

/** Longest string that an error shows in full. */
const SHOWN_LENGTH = 64;
/** Largest integer that every reader of JSON keeps exact. */
export const MAX_INTEGER = 2 ** 53;

/** The faults found so far. */
export class ErrorLog {
  readonly errors: ScanError[] = [];
  private readonly limit: number;

  constructor(limit: number) {
    this.limit = Math.max(1, limit);
  }

  get any(): boolean {
    return this.errors.length > 0;
  }

  get full(): boolean {
    return this.errors.length >= this.limit;
  }

  add(error: ScanError): void {
    if (!this.full) this.errors.push(error);
  }

  /** Text that isn't JSON has no fields: like FastAPI's, this error stands alone. */
  onlyThis(error: ScanError): void {
    this.errors.splice(0, this.errors.length, error);
  }
}

export function notJson(position: number, error: string): ScanError {
  return { type: "json_invalid", loc: ["body", position], msg: "JSON decode error", ctx: { error } };
}

/** A value of the wrong type. */
export function wrongType(shape: Shape, found: Found, loc: Location, shown: Shown): ScanError {
  const [type, msg] = typeFault(shape, found);
  const value = shown === undefined ? describe(found) : print(shown);
  return withInput({ type, loc, msg: `${msg}: ${place(loc)} is ${value}` }, shown);
}

function typeFault(shape: Shape, found: Found): [type: string, msg: string] {
  switch (shape.kind) {
    case "integer":
      return found === "string"
        ? ["int_parsing", "Input should be a valid integer, unable to parse string as an integer"]
        : ["int_type", "Input should be a valid integer"];
    case "float":
      return found === "string"
        ? ["float_parsing", "Input should be a valid number, unable to parse string as a number"]
        : ["float_type", "Input should be a valid number"];
    case "list":
      return ["list_type", "Input should be a valid list"];
    default:
      return shape.use === "group"
        ? ["model_attributes_type", "Input should be a valid dictionary or object to extract fields from"]
        : ["dict_type", "Input should be a valid dictionary"];
  }
}

export function fractional(loc: Location, value: number): ScanError {
  const msg = `Input should be a valid integer, got a number with a fractional part: ${place(loc)} is ${value}`;
  return { type: "int_from_float", loc, msg, input: value };
}

export function tooLarge(loc: Location, literal: string, largest = MAX_INTEGER): ScanError {
  const negative = literal.startsWith("-");
  const limit = negative ? -largest : largest;
  const msg = `Input should be ${negative ? "greater" : "less"} than or equal to ${limit}: ${place(loc)} is ${cut(literal)}`;
  const type = negative ? "greater_than_equal" : "less_than_equal";
  return { type, loc, msg, input: cut(literal), ctx: negative ? { ge: limit } : { le: limit } };
}

export function notFinite(loc: Location, literal: string): ScanError {
  const msg = `Input should be a finite number: ${place(loc)} is ${cut(literal)}`;
  return { type: "finite_number", loc, msg, input: cut(literal) };
}

export function literalTooLong(loc: Location, length: number, limit: number): ScanError {
  const msg = `Value error, ${place(loc)} is a number of ${length} characters; at most ${limit} are read`;
  return { type: "value_error", loc, msg, ctx: { error: "number literal too long" } };
}

export function missing(loc: Location): ScanError {
  return { type: "missing", loc, msg: "Field required" };
}

export function repeated(loc: Location): ScanError {
  return valueError(loc, `${place(loc)} stands twice in the same group`);
}

export function badMessage(loc: Location): ScanError {
  return valueError(loc, "Message must have 'role' and 'content' fields");
}

export function noSequence(loc: Location): ScanError {
  const msg = `List should have at least 1 item after validation, not 0: ${place(loc)} is empty and a group has at least one sequence`;
  return { type: "too_short", loc, msg, ctx: { field_type: "List", min_length: 1, actual_length: 0 } };
}

export function tooMany(loc: Location, what: string, limit: number): ScanError {
  const msg = `List should have at most ${limit} items after validation: ${place(loc)} has more ${what} than that`;
  return { type: "too_long", loc, msg, ctx: { field_type: "List", max_length: limit } };
}

/** A per-sequence list of another length than tokens. */
export function otherLength(loc: Location, length: number, sequences: number): ScanError {
  const tokens = place([...loc.slice(0, -1), "tokens"]);
  return valueError(
    loc,
    `${place(loc)} has length ${length} but ${tokens} has length ${sequences}: both count the sequences`,
  );
}

/** A row of masks of another length than the same row of tokens. */
export function otherRowLength(loc: Location, row: number, masks: number, tokens: number): ScanError {
  return valueError(
    loc,
    `${place(loc)} has length ${masks} but tokens[${row}] has length ${tokens}: each token has a mask`,
  );
}

function valueError(loc: Location, error: string): ScanError {
  return { type: "value_error", loc, msg: `Value error, ${error}`, ctx: { error } };
}

/** A location as a person writes it: `tokens[0][3]`, or `[2].tokens[0]` for the third group of a list. */
function place(loc: Location): string {
  let text = "";
  for (const step of loc.slice(1)) text += typeof step === "number" ? `[${step}]` : text === "" ? step : `.${step}`;
  return text === "" ? "the body" : text;
}

function print(shown: Exclude<Shown, undefined>): string {
  return typeof shown === "string" ? JSON.stringify(cut(shown)) : String(shown);
}

function describe(found: Found): string {
  return found === "object" ? "an object" : `a ${found}`;
}

function cut(text: string): string {
  return text.length > SHOWN_LENGTH ? `${text.slice(0, SHOWN_LENGTH)}…` : text;
}

function withInput(error: ScanError, shown: Shown): ScanError {
  if (shown === undefined) return error;
  return { ...error, input: typeof shown === "string" ? cut(shown) : shown };
}
