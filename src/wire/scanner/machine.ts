import {
  CLOSE_LIST,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  encode,
  isDigit,
  isWhitespace,
  MINUS,
  NO_BYTES,
  OPEN_LIST,
  OPEN_OBJECT,
  QUOTE,
  UPPER_I,
} from "./bytes.ts";
import { Emitter } from "./emitter.ts";
import { ErrorLog, notJson, tooMany } from "./errors.ts";
import { Judge } from "./judge.ts";
import { NumberToken } from "./number-token.ts";
import { MAX_DEPTH, Path } from "./path.ts";
import { type Run, takeFloats, takeIntegers } from "./runs.ts";
import type { Shape } from "./shapes.ts";
import {
  AFTER_VALUE,
  COLON_NEXT,
  HALTED,
  IN_KEY,
  IN_NUMBER,
  IN_STRING,
  IN_WORD,
  ITEM_OR_END,
  KEY,
  KEY_OR_END,
  lacking,
  START,
  VALUE,
} from "./states.ts";
import { StringToken } from "./string-token.ts";
import type { GroupSink, ScanOptions } from "./types.ts";
import { WordToken } from "./word-token.ts";

const DEFAULT_MAX_SEQUENCES = 65_536;
const DEFAULT_MAX_GROUPS = 65_536;
const DEFAULT_MAX_ERRORS = 20;

const BYTE_ORDER_MARK = new Uint8Array([0xef, 0xbb, 0xbf]);
const POINT_ZERO = encode(".0");

/**
 * Reads JSON text chunk by chunk, split anywhere. It follows the grammar of RFC 8259 as Python's json does, with its
 * messages and positions; what the values mean is the judge's affair.
 */
export class Machine {
  readonly log: ErrorLog;
  readonly judge: Judge;
  private readonly path = new Path();
  private readonly emitter: Emitter;
  private readonly number = new NumberToken();
  private readonly string = new StringToken();
  private readonly word = new WordToken();
  private readonly run: Run = { at: 0, count: 0, ended: false };
  private readonly maxGroups: number;
  private state = START;
  private chunk = NO_BYTES;
  /** Bytes of the body before the current chunk, a byte order mark not counted. */
  private base = 0;
  private markSeen = 0;
  /** Where the current string, number or word began: in the body, and in the chunk (0 when it began before it). */
  private tokenAt = 0;
  private tokenFrom = 0;
  private tokenContinues = false;

  constructor(root: Shape, sink: GroupSink, options: ScanOptions = {}) {
    this.log = new ErrorLog(options.maxErrors ?? DEFAULT_MAX_ERRORS);
    this.emitter = new Emitter(sink);
    this.maxGroups = options.maxGroups ?? DEFAULT_MAX_GROUPS;
    this.judge = new Judge(root, {
      path: this.path,
      log: this.log,
      emitter: this.emitter,
      sink,
      maxSequences: options.maxSequences ?? DEFAULT_MAX_SEQUENCES,
    });
  }

  push(chunk: Uint8Array): void {
    if (this.state === HALTED) return;
    this.chunk = chunk;
    this.emitter.begin(chunk);
    this.tokenFrom = 0;
    this.tokenContinues = true;
    const end = chunk.length;
    let at = 0;
    while (at < end) at = this.step(at, end);
    this.emitter.finish(this.heldNumber ? this.tokenFrom : end);
    this.base += end;
    this.chunk = NO_BYTES;
  }

  /** The body is over. */
  end(): void {
    if (this.state === IN_NUMBER) this.endNumber(0);
    if (this.state === HALTED) return;
    const fault = this.endFault();
    if (fault !== null) this.fail(fault.message, fault.at);
  }

  /** Whether text of an unfinished number is kept back, as it may be rewritten. */
  private get heldNumber(): boolean {
    return this.state === IN_NUMBER && this.judge.expected.kind === "integer";
  }

  /** Reads at least one byte, or changes the state; returns where to go on. */
  private step(from: number, end: number): number {
    switch (this.state) {
      case IN_STRING:
      case IN_KEY:
        return this.readString(from, end);
      case IN_NUMBER:
        return this.readNumber(from, end);
      case IN_WORD:
        return this.readWord(from, end);
      case START:
        return this.readMark(from);
      case HALTED:
        return end;
    }
    let at = from;
    while (at < end && isWhitespace(this.chunk[at] ?? 0)) at++;
    if (at === end) return end;
    switch (this.state) {
      case VALUE:
      case ITEM_OR_END:
        return this.readValue(at, end);
      case AFTER_VALUE:
        return this.readSeparator(at);
      case COLON_NEXT:
        if (this.chunk[at] !== COLON) return this.fail(lacking(this.state), this.base + at);
        this.state = VALUE;
        return at + 1;
      default:
        return this.readKey(at);
    }
  }

  private readMark(at: number): number {
    if (this.chunk[at] === BYTE_ORDER_MARK[this.markSeen]) {
      this.markSeen++;
      this.base--;
      if (this.markSeen === BYTE_ORDER_MARK.length) this.state = VALUE;
      return at + 1;
    }
    if (this.markSeen > 0) return this.fail("Expecting value", 0);
    this.state = VALUE;
    return at;
  }

  private readValue(at: number, end: number): number {
    const byte = this.chunk[at] ?? 0;
    if (isDigit(byte) || byte === MINUS) {
      if (this.path.inList && this.takeRun(at, end)) return this.run.at;
      this.startToken(at);
      this.number.begin(this.judge.readsNumbers);
      this.state = IN_NUMBER;
      return at;
    }
    if (byte === QUOTE) {
      this.startToken(at);
      this.string.begin();
      if (this.judge.refusesStrings) this.judge.shown.clear();
      this.state = IN_STRING;
      return at + 1;
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) return this.open(byte === OPEN_LIST, at);
    if (byte === CLOSE_LIST && this.state === ITEM_OR_END) return this.closeList(0, at);
    this.startToken(at);
    if (!this.word.begin(byte)) return this.fail(lacking(this.state), this.base + at);
    this.state = IN_WORD;
    return at;
  }

  /** Takes the numbers from `at` on in a hot loop where it can; false when it took none. */
  private takeRun(at: number, end: number): boolean {
    const { kind, use } = this.judge.expected;
    if (use !== "none") return false;
    const { run } = this;
    run.at = at;
    if (kind === "integer") takeIntegers(this.chunk, end, run, this.emitter);
    else if (kind === "float") takeFloats(this.chunk, end, run, this.emitter);
    else if (kind === "any") takeFloats(this.chunk, end, run, null);
    if (run.at === at) return false;
    this.path.advance(run.count);
    this.state = run.ended ? AFTER_VALUE : VALUE;
    return true;
  }

  private open(list: boolean, at: number): number {
    if (this.path.full) return this.fail(`Nested deeper than ${MAX_DEPTH} levels`, this.base + at);
    if (this.judge.expected.use === "group" && this.judge.groups >= this.maxGroups) {
      this.judge.report(tooMany(["body"], "groups", this.maxGroups));
      return this.halt();
    }
    this.judge.opened(list, at);
    this.state = list ? ITEM_OR_END : KEY_OR_END;
    return this.goOn(at + 1);
  }

  private closeList(length: number, at: number): number {
    this.judge.listClosed(length);
    this.state = AFTER_VALUE;
    return this.goOn(at + 1);
  }

  private closeObject(at: number): number {
    this.judge.objectClosed(at);
    this.state = AFTER_VALUE;
    return this.goOn(at + 1);
  }

  private readSeparator(at: number): number {
    const byte = this.chunk[at] ?? 0;
    if (this.path.depth === 0) return this.fail("Extra data", this.base + at);
    if (this.path.inList) {
      if (byte === CLOSE_LIST) return this.closeList(this.path.index + 1, at);
      if (byte !== COMMA) return this.fail(lacking(this.state), this.base + at);
      this.path.advance(1);
      this.judge.expected = this.path.shape.items;
      this.state = VALUE;
    } else {
      if (byte === CLOSE_OBJECT) return this.closeObject(at);
      if (byte !== COMMA) return this.fail(lacking(this.state), this.base + at);
      this.state = KEY;
    }
    return at + 1;
  }

  private readKey(at: number): number {
    const byte = this.chunk[at] ?? 0;
    if (byte === CLOSE_OBJECT && this.state === KEY_OR_END) return this.closeObject(at);
    if (byte !== QUOTE) return this.fail(lacking(this.state), this.base + at);
    this.startToken(at);
    this.string.begin();
    this.path.startKey();
    this.state = IN_KEY;
    return at + 1;
  }

  private readString(from: number, end: number): number {
    const at = this.string.scan(this.chunk, from, end, this.base);
    if (this.string.fault !== null) return this.fail(this.string.fault.message, this.string.fault.at);
    const stop = this.string.closed ? at - 1 : at;
    if (this.state === IN_KEY) this.path.appendToKey(this.chunk, from, stop);
    else if (this.judge.refusesStrings) this.judge.shown.append(this.chunk, from, stop);
    if (!this.string.closed) return at;
    if (this.state === IN_KEY) {
      this.judge.keyEnded();
      this.state = COLON_NEXT;
    } else {
      this.judge.stringEnded();
      this.state = AFTER_VALUE;
    }
    return this.goOn(at);
  }

  private readWord(from: number, end: number): number {
    const at = this.word.scan(this.chunk, from, end);
    if (this.word.complete) {
      this.judge.wordEnded(this.word.word);
      this.state = AFTER_VALUE;
      return this.goOn(at);
    }
    return at < end ? this.fail("Expecting value", this.tokenAt) : end;
  }

  private readNumber(from: number, end: number): number {
    const at = this.number.scan(this.chunk, from, end, this.base);
    if (at === end) return end;
    if (this.number.bareMinus && this.chunk[at] === UPPER_I) {
      this.word.begin(UPPER_I, true);
      this.state = IN_WORD;
      return at;
    }
    return this.endNumber(at);
  }

  /** The number ended before `at`. */
  private endNumber(at: number): number {
    const { number, emitter } = this;
    if (!number.complete) {
      if (number.validTo < 0) return this.fail("Expecting value", this.tokenAt);
      return this.fail(this.path.depth === 0 ? "Extra data" : lacking(AFTER_VALUE), number.validTo);
    }
    const integer = this.judge.expected.kind === "integer";
    const verdict = this.judge.numberEnded(number);
    if (verdict === "add-point") {
      emitter.through(at);
      emitter.insert(POINT_ZERO);
    } else if (verdict !== "keep") {
      emitter.through(this.tokenFrom);
      emitter.insert(encode(verdict.instead));
      emitter.skip(at);
    } else if (integer && this.tokenContinues) {
      emitter.insert(number.literal.view());
      emitter.skip(at);
    }
    this.state = AFTER_VALUE;
    return this.goOn(at);
  }

  private startToken(at: number): void {
    this.tokenAt = this.base + at;
    this.tokenFrom = at;
    this.tokenContinues = false;
  }

  private goOn(at: number): number {
    return this.log.full ? this.halt() : at;
  }

  /** The text is not JSON at that byte of the body. Positions shown count characters, as Python's do. */
  private fail(message: string, position: number): number {
    this.log.onlyThis(notJson(position - this.string.continuations, message));
    return this.halt();
  }

  private halt(): number {
    this.emitter.stop();
    this.state = HALTED;
    return this.chunk.length;
  }

  private endFault(): { message: string; at: number } | null {
    const { state, string } = this;
    if (state === IN_STRING || state === IN_KEY) {
      if (string.inHexEscape) return string.hexEscapeFault;
      // What follows the opening quote doesn't move it.
      return { message: "Unterminated string starting at", at: this.tokenAt + string.continuationsInside };
    }
    if (state === IN_WORD) return { message: lacking(state), at: this.tokenAt };
    if (state === AFTER_VALUE && this.path.depth === 0) return null;
    return { message: lacking(state), at: this.base };
  }
}
