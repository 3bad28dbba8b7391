/** What docs/PROTOCOL.md says of the fields of a small body. `otherwise` is what becomes of text without the pattern. */
export type Field = { readonly optional?: boolean; readonly nullable?: boolean } & (
  | { readonly is: "integer" | "number"; readonly min?: number; readonly max?: number }
  | { readonly is: "text"; readonly longest: number; readonly pattern?: RegExp; readonly otherwise?: Verdict }
  | { readonly is: "one of"; readonly values: readonly string[] }
  | { readonly is: "boolean" | "anything" }
  | { readonly is: "list"; readonly of: Field; readonly longest: number }
  /** Other fields are refused, unless it is a message of the stock API. */
  | { readonly is: "object"; readonly fields: Fields; readonly isStock?: boolean }
  | { readonly is: "numbers by name" }
);
export type Fields = Readonly<Record<string, Field>>;

export type Verdict = "valid" | "refused" | "open";

/** Values at the edge of what fields allow, and just beyond it. */
export function edges(fields: Fields): (readonly [name: string, value: unknown])[] {
  return Object.entries(fields).flatMap(([name, field]) => edgesOf(field).map((value) => [name, value] as const));
}

function edgesOf(field: Field): unknown[] {
  switch (field.is) {
    case "integer":
    case "number":
      return [field.min, field.max].flatMap((edge) =>
        edge === undefined ? [] : [edge - 1, edge - 0.5, edge, edge + 1],
      );
    case "text":
      return ["", "a\u0000b", "\ud800", "x".repeat(field.longest), "x".repeat(field.longest + 1)];
    case "list":
      return [Array(field.longest + 1).fill(0)];
    default:
      return [];
  }
}

export interface Message {
  readonly fields: Fields;
  /** Whether an empty body is valid. */
  readonly optional?: boolean;
  readonly isStock?: boolean;
}

/** Judges a decoded body. */
export function judgeSettings(text: string, { fields, optional = false, isStock = false }: Message): Verdict {
  if (text === "") return optional ? "valid" : "refused";
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return "refused";
  }
  return judge(value, { is: "object", fields, isStock });
}

/** The worst of several verdicts: one refusal is enough, and what is left open leaves all open. */
function worst(verdicts: readonly Verdict[]): Verdict {
  if (verdicts.includes("refused")) return "refused";
  return verdicts.includes("open") ? "open" : "valid";
}

function judge(value: unknown, field: Field): Verdict {
  if (value === undefined) return field.optional ? "valid" : "refused";
  if (value === null && field.nullable) return "valid";
  switch (field.is) {
    case "anything":
      return "valid";
    case "boolean":
      return typeof value === "boolean" ? "valid" : "refused";
    case "integer":
    case "number":
      return judgeNumber(value, field);
    case "text":
      if (typeof value !== "string" || value.length > field.longest || !value.isWellFormed()) return "refused";
      return field.pattern === undefined || field.pattern.test(value) ? "valid" : (field.otherwise ?? "refused");
    case "one of":
      return typeof value === "string" && field.values.includes(value) ? "valid" : "refused";
    case "list":
      if (!Array.isArray(value) || value.length > field.longest) return "refused";
      return worst(value.map((item) => judge(item, field.of)));
    case "numbers by name":
      if (!isObject(value)) return "refused";
      // Names are bounded, which the documentation doesn't say.
      if (Object.keys(value).some((name) => name === "" || name.length > 256 || name === "__proto__")) return "open";
      return Object.values(value).every((item) => typeof item === "number" && Number.isFinite(item))
        ? "valid"
        : "refused";
    case "object":
      if (!isObject(value)) return "refused";
      if (!field.isStock && Object.keys(value).some((name) => !Object.hasOwn(field.fields, name))) return "refused";
      return worst(Object.entries(field.fields).map(([name, each]) => judge(ownValue(value, name), each)));
  }
}

function judgeNumber(value: unknown, field: { is: "integer" | "number"; min?: number; max?: number }): Verdict {
  const number = typeof value === "string" ? fromText(value) : typeof value === "number" ? value : Number.NaN;
  if (number === null) return "open";
  if (!Number.isFinite(number) || (field.is === "integer" && !Number.isSafeInteger(number))) return "refused";
  return (field.min ?? number) <= number && number <= (field.max ?? number) ? "valid" : "refused";
}

/** Integers may come as text. How else a number may be written there, nobody says: null. */
function fromText(text: string): number | null {
  if (/^[+-]?\d+(\.0*)?$/.test(text)) return Number(text);
  return /^\s*[+-]?[\d_]*\.?\d*(e[+-]?\d+)?\s*$/i.test(text) && /\d/.test(text) ? null : Number.NaN;
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function ownValue(value: object, name: string): unknown {
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}
