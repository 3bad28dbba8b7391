import { decode, decodeLiteral, Snippet } from "./bytes.ts";
import type { Emitter } from "./emitter.ts";
import {
  badMessage,
  type ErrorLog,
  type Found,
  fractional,
  literalTooLong,
  MAX_INTEGER,
  notFinite,
  repeated,
  type Shown,
  tooLarge,
  wrongType,
} from "./errors.ts";
import { GroupTally } from "./group-tally.ts";
import { MAX_LITERAL, type NumberToken } from "./number-token.ts";
import type { Path } from "./path.ts";
import { ANY, FIELD_NAMES, fieldAt, MESSAGE_KEYS, MESSAGE_NAMES, type Shape } from "./shapes.ts";
import type { GroupSink, ScanError } from "./types.ts";
import type { Word } from "./word-token.ts";

/** Path depth of the group's object while none is open: no depth is near it. */
const NO_GROUP = -10;
/** Longest value that an error shows, in bytes. */
const SHOWN_BYTES = 256;
/** Whole numbers of fewer characters are below 2^53. */
const SAFE_LENGTH = 16;

/** What a number is delivered as: its own text, other text, or its own text and ".0". */
export type Verdict = "keep" | "add-point" | { instead: string };

/** Holds what passes against what a scored group must be; the grammar is the machine's affair. */
export class Judge {
  /** What the next value has to be. */
  expected: Shape;
  groups = 0;
  /** The beginning of a string that stands where none should, for the error to show. */
  readonly shown = new Snippet(SHOWN_BYTES);
  private readonly path: Path;
  private readonly log: ErrorLog;
  private readonly emitter: Emitter;
  private readonly sink: GroupSink;
  private readonly tally: GroupTally;
  private groupDepth = NO_GROUP;
  /** Keys of the message being read: a bit for role, one for content. */
  private messageKeys = 0;
  private badMessageSeen = false;

  constructor(
    root: Shape,
    parts: { path: Path; log: ErrorLog; emitter: Emitter; sink: GroupSink; maxSequences: number },
  ) {
    this.expected = root;
    this.path = parts.path;
    this.log = parts.log;
    this.emitter = parts.emitter;
    this.sink = parts.sink;
    this.tally = new GroupTally(parts.maxSequences);
  }

  /** A list or object opens at the chunk's position `at`. */
  opened(list: boolean, at: number): void {
    const shape = this.allows(list ? "list" : "object") ? this.expected : ANY;
    if (shape.use === "group") this.beginGroup(at);
    if (shape.use === "message") this.messageKeys = 0;
    this.path.open(shape, list);
    this.expected = shape.items;
  }

  /** The innermost list, of that length, closes. */
  listClosed(length: number): void {
    this.path.close();
    const inside = this.path.depth - this.groupDepth;
    if (inside === 0) this.tally.listEnded(length);
    else if (inside === 1) this.tally.rowEnded(length);
  }

  /** The innermost object closes with the brace at `at`. */
  objectClosed(at: number): void {
    const { use } = this.path.shape;
    this.path.close();
    if (use === "group") this.endGroup(at);
    else if (use === "message" && this.messageKeys !== (1 << MESSAGE_KEYS.length) - 1) this.reportMessage();
  }

  /** The innermost object's next key is complete. */
  keyEnded(): void {
    const { shape } = this.path;
    this.expected = shape.items;
    if (shape.use === "group") {
      const position = this.path.findKey(FIELD_NAMES);
      if (!this.tally.enter(position)) this.report(repeated(this.path.location()));
      this.expected = fieldAt(position)?.shape ?? ANY;
    } else if (shape.use === "message") {
      const position = this.path.findKey(MESSAGE_NAMES);
      if (position >= 0) this.messageKeys |= 1 << position;
    }
  }

  /** Whether a string that begins here must be kept for an error. */
  get refusesStrings(): boolean {
    return this.expected.kind !== "any";
  }

  stringEnded(): void {
    if (!this.refusesStrings) return;
    const text = this.shown.complete ? decodeLiteral(this.shown.view()) : decode(this.shown.view());
    this.report(wrongType(this.expected, "string", this.path.location(), text));
  }

  wordEnded(word: Word): void {
    if (word === "null") {
      if (this.expected.kind !== "any" && !this.expected.nullable) this.refuse("null", null);
    } else if (word === "true" || word === "false") {
      if (this.expected.kind !== "any") this.refuse("boolean", word === "true");
    } else this.report(notFinite(this.path.location(), word));
  }

  /** Whether the literal of a number that begins here is needed. */
  get readsNumbers(): boolean {
    return this.expected.kind !== "any" || this.expected.use !== "none";
  }

  numberEnded(number: NumberToken): Verdict {
    const { kind, use } = this.expected;
    if (kind === "any") {
      if (use === "policy_version") this.readPolicyVersion(number);
      return "keep";
    }
    if (!number.literal.complete) {
      this.report(literalTooLong(this.path.location(), number.literal.length, MAX_LITERAL));
      return "keep";
    }
    if (kind === "integer") return this.integer(number);
    if (kind === "float") return this.float(number);
    const value = Number(decode(number.literal.view()));
    this.refuse("number", Number.isFinite(value) ? value : undefined);
    return "keep";
  }

  report(error: ScanError): void {
    this.log.add(error);
    this.emitter.stop();
    this.tally.spoil();
  }

  private integer(number: NumberToken): Verdict {
    const short = number.whole && number.literal.length < SAFE_LENGTH;
    if (short && this.expected.use === "none") return "keep";
    const text = decode(number.literal.view());
    const value = Number(text);
    const isEnvironment = this.expected.use === "env_id";
    if (!Number.isInteger(value) && Number.isFinite(value)) this.report(fractional(this.path.location(), value));
    // An id is kept and read again, and zod takes no larger integers.
    else if (isEnvironment && !Number.isSafeInteger(value)) {
      this.report(tooLarge(this.path.location(), text, Number.MAX_SAFE_INTEGER));
    } else if (Math.abs(value) > MAX_INTEGER || (number.whole && !short && !withinLimit(text))) {
      this.report(tooLarge(this.path.location(), text));
    } else {
      if (isEnvironment) this.tally.environment = value === 0 ? 0 : value;
      // String(-0) is "0", and up to 2^53 no number is printed with an exponent.
      if (!number.whole) return { instead: String(value) };
    }
    return "keep";
  }

  private float(number: NumberToken): Verdict {
    const short = number.whole && number.literal.length < SAFE_LENGTH;
    if (!short || this.expected.use === "score") {
      const text = decode(number.literal.view());
      const value = Number(text);
      if (!Number.isFinite(value)) this.report(notFinite(this.path.location(), text));
      else if (this.expected.use === "score") this.tally.score(value);
    }
    return number.whole ? "add-point" : "keep";
  }

  private readPolicyVersion(number: NumberToken): void {
    if (!number.literal.complete) return;
    const value = Number(decode(number.literal.view()));
    if (number.whole && Number.isSafeInteger(value)) this.tally.policyVersion = value === 0 ? 0 : value;
  }

  private beginGroup(at: number): void {
    this.groupDepth = this.path.depth + 1;
    this.tally.begin(this.path.location());
    this.badMessageSeen = false;
    if (this.log.any) return;
    this.sink.groupStart(this.groups);
    this.emitter.openGroup(at);
  }

  private endGroup(at: number): void {
    this.tally.conclude(this.log);
    if (this.log.any) this.emitter.stop();
    else {
      this.emitter.through(at);
      this.emitter.insert(this.tally.missingFields());
      this.emitter.through(at + 1);
      this.emitter.closeGroup();
      this.sink.groupEnd(this.groups, this.tally.envelope(this.emitter.bytes));
    }
    this.groups++;
    this.groupDepth = NO_GROUP;
  }

  private reportMessage(): void {
    if (this.badMessageSeen) return;
    this.badMessageSeen = true;
    this.report(badMessage(this.path.location(this.groupDepth)));
  }

  /** Whether a list or object may stand here; reports it when not. */
  private allows(found: "list" | "object"): boolean {
    const { kind } = this.expected;
    if (kind === "any" || kind === found) return true;
    this.refuse(found, undefined);
    return false;
  }

  private refuse(found: Found, shown: Shown): void {
    this.report(wrongType(this.expected, found, this.path.location(), shown));
  }
}

/** Whether an integer literal is within ±2^53, where a double can no longer tell. */
function withinLimit(literal: string): boolean {
  const value = BigInt(literal);
  const limit = BigInt(MAX_INTEGER);
  return value >= -limit && value <= limit;
}
