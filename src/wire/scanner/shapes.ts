import { Names } from "./names.ts";

/** The kinds of value a place can ask for. */
export type Kind = "any" | "integer" | "float" | "list" | "object";

/** What a value is used for besides being delivered. */
export type Use = "none" | "group" | "message" | "score" | "env_id" | "policy_version";

/** What a place in a body asks of the value that stands there. */
export class Shape {
  readonly kind: Kind;
  readonly nullable: boolean;
  readonly use: Use;
  /** What a list's items, or an object's values, have to be. */
  readonly items: Shape;

  constructor(kind: Kind, options: { items?: Shape; nullable?: boolean; use?: Use } = {}) {
    this.kind = kind;
    this.nullable = options.nullable ?? false;
    this.use = options.use ?? "none";
    this.items = options.items ?? (kind === "any" && this.use === "none" ? this : ANY);
  }

  orNull(): Shape {
    return new Shape(this.kind, { items: this.items, nullable: true, use: this.use });
  }
}

export const ANY: Shape = new Shape("any");

const list = (items: Shape): Shape => new Shape("list", { items });
const OBJECT = new Shape("object");
const INTEGERS = list(new Shape("integer"));
const FLOATS = list(new Shape("float"));

export const GROUP = new Shape("object", { use: "group" });
export const GROUPS = list(GROUP);

/** One field of a scored group. */
export interface Field {
  readonly name: string;
  readonly shape: Shape;
  readonly required: boolean;
  /** Whether a list here has one entry for each sequence. */
  readonly perSequence: boolean;
}

function field(name: string, shape: Shape, options: { required?: boolean; perSequence?: boolean } = {}): Field {
  return { name, shape, required: options.required ?? false, perSequence: options.perSequence ?? true };
}

/** Positions in FIELDS of those the scanner treats on their own. */
export const TOKENS = 0;
export const MASKS = 1;
export const SCORES = 2;

/** The fields of Atropos' ScoredData, in the order in which its server prints them. */
export const FIELDS: readonly Field[] = [
  field("tokens", list(INTEGERS), { required: true }),
  field("masks", list(INTEGERS), { required: true }),
  field("scores", list(new Shape("float", { use: "score" })), { required: true }),
  field("advantages", list(FLOATS).orNull()),
  field("ref_logprobs", list(FLOATS).orNull()),
  field("messages", list(list(new Shape("object", { use: "message" }))).orNull()),
  field("generation_params", OBJECT.orNull(), { perSequence: false }),
  field("inference_logprobs", list(FLOATS).orNull()),
  field("overrides", list(OBJECT).orNull()),
  field("group_overrides", OBJECT.orNull(), { perSequence: false }),
  // Recorded with one image for two sequences: its length means nothing.
  field("images", ANY, { perSequence: false }),
  field("env_id", new Shape("integer", { nullable: true, use: "env_id" }), { perSequence: false }),
  field("distill_token_ids", list(list(INTEGERS)).orNull()),
  field("distill_logprobs", list(list(FLOATS)).orNull()),
];

/** Fields that are looked at but, when missing, not added to a group. */
const EXTRA_FIELDS: readonly Field[] = [
  field("policy_version", new Shape("any", { use: "policy_version" }), { perSequence: false }),
];

const ALL_FIELDS: readonly Field[] = [...FIELDS, ...EXTRA_FIELDS];

/** Stands for a field that this module doesn't know. */
export const UNKNOWN_FIELD = -1;

/** Finds a field's position in `fieldAt`. */
export const FIELD_NAMES = new Names(ALL_FIELDS.map(({ name }) => name));

export function fieldAt(position: number): Field | undefined {
  return ALL_FIELDS[position];
}

/** What every message must have. */
export const MESSAGE_KEYS = ["role", "content"];
export const MESSAGE_NAMES = new Names(MESSAGE_KEYS);
