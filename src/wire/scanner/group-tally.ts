import { encode } from "./bytes.ts";
import { type ErrorLog, missing, noSequence, otherLength, otherRowLength, tooMany } from "./errors.ts";
import { FIELDS, MASKS, SCORES, TOKENS, UNKNOWN_FIELD } from "./shapes.ts";
import type { Location, ScannedGroup } from "./types.ts";

const ALL_FIELDS = (1 << FIELDS.length) - 1;

/** What to add by the set of fields that are there; clients use very few of the 2,048 sets. */
const missingFields = new Map<number, Uint8Array>();

/** No list was seen in a field. */
const NO_LIST = -1;

/** What is kept of the group that is passing by: which fields it had, how long their lists were, and its envelope. */
export class GroupTally {
  /** The field whose value is being read. */
  field = UNKNOWN_FIELD;
  environment: number | null = null;
  policyVersion: number | null = null;
  private readonly maxSequences: number;
  private location: Location = ["body"];
  /** Bit sets by position of the field. */
  private seen = 0;
  private faulty = 0;
  /** Length of each field's list, NO_LIST where it had none. */
  private readonly lengths = new Int32Array(FIELDS.length);
  private readonly tokenRows = new RowLengths();
  private readonly maskRows = new RowLengths();
  private sum = 0;
  private min = 0;
  private max = 0;

  constructor(maxSequences: number) {
    this.maxSequences = maxSequences;
  }

  begin(location: Location): void {
    this.location = location;
    this.field = UNKNOWN_FIELD;
    this.environment = null;
    this.policyVersion = null;
    this.seen = 0;
    this.faulty = 0;
    this.lengths.fill(NO_LIST);
    this.tokenRows.count = 0;
    this.maskRows.count = 0;
    this.sum = 0;
    this.min = Number.POSITIVE_INFINITY;
    this.max = Number.NEGATIVE_INFINITY;
  }

  /** A field's value begins; false when the group had that field already. */
  enter(field: number): boolean {
    this.field = field;
    if (field === UNKNOWN_FIELD) return true;
    const fresh = (this.seen & (1 << field)) === 0;
    this.seen |= 1 << field;
    return fresh;
  }

  /** The current field has an error, so its length says nothing. */
  spoil(): void {
    if (this.field !== UNKNOWN_FIELD) this.faulty |= 1 << this.field;
  }

  get spoiled(): boolean {
    return this.isFaulty(this.field);
  }

  score(value: number): void {
    this.sum += value;
    if (value < this.min) this.min = value;
    if (value > this.max) this.max = value;
  }

  /** A list directly inside the current field ended. */
  rowEnded(length: number): void {
    const rows = this.field === TOKENS ? this.tokenRows : this.field === MASKS ? this.maskRows : null;
    if (rows !== null && rows.count < this.maxSequences) rows.push(length);
  }

  /** The list that is the current field's value ended. */
  listEnded(length: number): void {
    if (this.field !== UNKNOWN_FIELD && this.field < FIELDS.length) this.lengths[this.field] = length;
  }

  /** The faults that show only when the group is complete. */
  conclude(log: ErrorLog): void {
    for (let field = 0; field < FIELDS.length; field++) {
      if (FIELDS[field]?.required && !this.has(field)) log.add(missing(this.at(field)));
    }
    const sequences = this.length(TOKENS);
    if (!this.has(TOKENS) || this.isFaulty(TOKENS) || sequences === NO_LIST) return;
    if (sequences === 0) log.add(noSequence(this.at(TOKENS)));
    if (sequences > this.maxSequences) {
      log.add(tooMany(this.at(TOKENS), "sequences", this.maxSequences));
      return;
    }
    for (let field = MASKS; field < FIELDS.length; field++) this.checkLength(field, sequences, log);
    if (this.length(MASKS) === sequences && !this.isFaulty(MASKS)) this.checkRows(sequences, log);
  }

  /** `, "field": null` for each field that the group lacks. */
  missingFields(): Uint8Array {
    const key = this.seen & ALL_FIELDS;
    const known = missingFields.get(key);
    if (known !== undefined) return known;
    let text = "";
    for (let field = 0; field < FIELDS.length; field++) {
      if (!this.has(field)) text += `, "${FIELDS[field]?.name}": null`;
    }
    const bytes = encode(text);
    missingFields.set(key, bytes);
    return bytes;
  }

  envelope(bytes: number): ScannedGroup {
    const sequences = this.length(TOKENS);
    return {
      sequences,
      tokens: this.tokenRows.total(),
      longest: this.tokenRows.longest(),
      environment: this.environment,
      policyVersion: this.policyVersion,
      scores: { mean: this.meanScore(sequences), min: this.min, max: this.max },
      bytes,
    };
  }

  /** Between the least and the largest even where the sum leaves a double's range. */
  private meanScore(sequences: number): number {
    return Math.min(this.max, Math.max(this.min, this.sum / sequences));
  }

  private checkLength(field: number, sequences: number, log: ErrorLog): void {
    const length = this.length(field);
    if (length === NO_LIST || length === sequences || this.isFaulty(field) || !FIELDS[field]?.perSequence) return;
    const required = field === MASKS || field === SCORES;
    if (required || length > 0) log.add(otherLength(this.at(field), length, sequences));
  }

  private checkRows(sequences: number, log: ErrorLog): void {
    for (let row = 0; row < sequences && !log.full; row++) {
      const tokens = this.tokenRows.at(row);
      const masks = this.maskRows.at(row);
      if (tokens !== masks) log.add(otherRowLength([...this.at(MASKS), row], row, masks, tokens));
    }
  }

  private has(field: number): boolean {
    return (this.seen & (1 << field)) !== 0;
  }

  private isFaulty(field: number): boolean {
    return field !== UNKNOWN_FIELD && (this.faulty & (1 << field)) !== 0;
  }

  private length(field: number): number {
    return this.lengths[field] ?? NO_LIST;
  }

  private at(field: number): Location {
    return [...this.location, FIELDS[field]?.name ?? ""];
  }
}

/** A growing list of lengths, 4 bytes each. */
class RowLengths {
  count = 0;
  private lengths = new Int32Array(16);

  push(length: number): void {
    if (this.count === this.lengths.length) {
      const larger = new Int32Array(this.count * 2);
      larger.set(this.lengths);
      this.lengths = larger;
    }
    this.lengths[this.count++] = length;
  }

  at(row: number): number {
    return this.lengths[row] ?? 0;
  }

  longest(): number {
    let longest = 0;
    for (let row = 0; row < this.count; row++) longest = Math.max(longest, this.at(row));
    return longest;
  }

  total(): number {
    let sum = 0;
    for (let row = 0; row < this.count; row++) sum += this.at(row);
    return sum;
  }
}
