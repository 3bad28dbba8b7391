/**
 * What docs/PROTOCOL.md says of a body with groups, read by other means than the server's scanner: JSON.parse says whether it
 * is JSON, a small reader of its own keeps what JSON.parse forgets (keys that stand twice, how numbers are written).
 */
export type Judged =
  | { readonly verdict: "refused" }
  /** The documentation leaves it open. */
  | { readonly verdict: "open" }
  | { readonly verdict: "valid"; readonly groups: readonly JudgedGroup[] };

export interface JudgedGroup {
  readonly sequences: number;
  readonly environment: number | null;
}

type Value =
  | { readonly kind: "list"; readonly items: readonly Value[] }
  | { readonly kind: "object"; readonly entries: readonly (readonly [string, Value])[] }
  | { readonly kind: "number"; readonly text: string }
  | { readonly kind: "other"; readonly value: string | boolean | null };

const DEEPEST = 64;
const LONGEST_NUMBER = 2_048;
const REFUSED = { verdict: "refused" } as const;
const OPEN = { verdict: "open" } as const;

/** Thrown for what the documentation leaves open. */
class Unsaid extends Error {}
class Refused extends Error {}

export function judgeGroups(bytes: Uint8Array, mode: "group" | "list"): Judged {
  const text = decode(bytes);
  if (text === null || !isJson(text)) return REFUSED;
  try {
    const value = new Reader(text).value();
    if (mode === "group") return { verdict: "valid", groups: [group(value)] };
    return { verdict: "valid", groups: list(value).map(group) };
  } catch (error) {
    if (error instanceof Unsaid) return OPEN;
    if (error instanceof Refused) return REFUSED;
    throw error;
  }
}

/** The text, without the byte order mark that it may begin with; null for what is not UTF-8. */
function decode(bytes: Uint8Array): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: false }).decode(bytes);
  } catch {
    return null;
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

/** Reads text that is known to be JSON. */
class Reader {
  readonly #text: string;
  #at = 0;
  #depth = 0;

  constructor(text: string) {
    this.#text = text;
  }

  value(): Value {
    this.#space();
    const sign = this.#text[this.#at];
    if (sign === "[") return { kind: "list", items: this.#inside("]", () => this.value()) };
    if (sign === "{") return { kind: "object", entries: this.#inside("}", () => this.#entry()) };
    if (sign === '"') return { kind: "other", value: this.#string() };
    const word = this.#match(/[^\s,\]}]+/y);
    if (word === "null") return { kind: "other", value: null };
    if (word === "true" || word === "false") return { kind: "other", value: word === "true" };
    return { kind: "number", text: word };
  }

  #entry(): [string, Value] {
    this.#space();
    const key = this.#string();
    this.#space();
    this.#at += 1;
    return [key, this.value()];
  }

  #inside<T>(end: string, read: () => T): T[] {
    this.#depth += 1;
    if (this.#depth > DEEPEST) throw new Refused();
    const items: T[] = [];
    this.#at += 1;
    this.#space();
    while (this.#text[this.#at] !== end) {
      items.push(read());
      this.#space();
      if (this.#text[this.#at] === ",") this.#at += 1;
    }
    this.#at += 1;
    this.#depth -= 1;
    return items;
  }

  #string(): string {
    return String(JSON.parse(this.#match(/"(?:[^"\\]|\\.)*"/y)));
  }

  #space(): void {
    this.#match(/[ \t\r\n]*/y);
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.#at;
    const [found = ""] = pattern.exec(this.#text) ?? [];
    this.#at += found.length;
    return found;
  }
}

type Check = (value: Value) => void;

function list(value: Value): readonly Value[] {
  if (value.kind !== "list") throw new Refused();
  return value.items;
}

const listOf =
  (item: Check): Check =>
  (value) => {
    for (const each of list(value)) item(each);
  };
const orNull =
  (check: Check): Check =>
  (value) => {
    if (value.kind !== "other" || value.value !== null) check(value);
  };

const anything: Check = () => undefined;

const object: Check = (value) => {
  if (value.kind !== "object") throw new Refused();
};

const float: Check = (value) => {
  if (!Number.isFinite(numberOf(value))) throw new Refused();
};

const integer: Check = (value) => {
  const number = numberOf(value);
  if (!Number.isInteger(number) || Math.abs(number) > 2 ** 53) throw new Refused();
  // 2^53 + 1 reads as 2^53.
  if (Math.abs(number) === 2 ** 53) throw new Unsaid();
};

const identifier: Check = (value) => {
  if (!Number.isSafeInteger(numberOf(value))) throw new Refused();
};

function numberOf(value: Value): number {
  if (value.kind !== "number" || value.text.length > LONGEST_NUMBER) throw new Refused();
  return Number(value.text);
}

const message: Check = (value) => {
  if (value.kind !== "object") throw new Refused();
  const keys = new Set(value.entries.map(([key]) => key));
  if (!keys.has("role") || !keys.has("content")) throw new Refused();
};

const integers = listOf(listOf(integer));
const floats = listOf(listOf(float));

const FIELDS: Readonly<Record<string, Check>> = {
  tokens: integers,
  masks: integers,
  scores: listOf(float),
  advantages: orNull(floats),
  ref_logprobs: orNull(floats),
  inference_logprobs: orNull(floats),
  messages: orNull(listOf(listOf(message))),
  overrides: orNull(listOf(object)),
  generation_params: orNull(object),
  group_overrides: orNull(object),
  images: anything,
  env_id: orNull(identifier),
  distill_token_ids: orNull(listOf(integers)),
  distill_logprobs: orNull(listOf(floats)),
  policy_version: anything,
};

const PER_SEQUENCE = [
  ...["advantages", "ref_logprobs", "inference_logprobs", "messages", "overrides"],
  ...["distill_token_ids", "distill_logprobs"],
];

function group(value: Value): JudgedGroup {
  if (value.kind !== "object") throw new Refused();
  const fields = new Map<string, Value>();
  for (const [key, item] of value.entries) {
    const check = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined;
    if (check !== undefined && fields.has(key)) throw new Refused();
    check?.(item);
    fields.set(key, item);
  }
  const lengthsOf = (name: string) => {
    const field = fields.get(name);
    if (field === undefined) throw new Refused();
    return list(field).map((item) => (item.kind === "list" ? item.items.length : 0));
  };
  const tokens = lengthsOf("tokens");
  if (tokens.length === 0 || lengthsOf("scores").length !== tokens.length) throw new Refused();
  if (lengthsOf("masks").join() !== tokens.join()) throw new Refused();
  for (const name of PER_SEQUENCE) {
    const field = fields.get(name);
    if (field?.kind === "list" && field.items.length !== 0 && field.items.length !== tokens.length) throw new Refused();
  }
  const environment = fields.get("env_id");
  return {
    sequences: tokens.length,
    environment: environment?.kind === "number" ? Number(environment.text) : null,
  };
}
