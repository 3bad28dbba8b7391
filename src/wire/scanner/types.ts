/** One step of the way to a value: the word "body", a field's name, or a position in a list. */
export type Location = ("body" | string | number)[];

/** A fault of a request body, as FastAPI prints it in `detail`. `type` is pydantic's name for the kind of fault. */
export interface ScanError {
  type: string;
  loc: Location;
  msg: string;
  /** The offending value when it is a scalar; strings are cut at 64 characters. */
  input?: string | number | boolean | null;
  ctx?: Record<string, string | number>;
}

/** What is known of a group once its last byte has passed: the parts of its envelope that its body tells. */
export interface ScannedGroup {
  /** How many sequences it holds; at least 1. */
  sequences: number;
  /** The lengths of all sequences together. */
  tokens: number;
  /** The length of the longest sequence. */
  longest: number;
  /** Its `env_id`. */
  environment: number | null;
  /** Its `policy_version`, where that is an integer. */
  policyVersion: number | null;
  scores: { mean: number; min: number; max: number };
  /** The length of the text that went to the sink. */
  bytes: number;
}

/**
 * Where the text of each group goes. Calls come in the order groupStart, write…, groupEnd for every group of the body.
 * After the first error there are no more calls (so a group may stay unfinished), and since a later group can be bad,
 * nothing may be made permanent before `GroupScanner.end` has said `ok`.
 */
export interface GroupSink {
  groupStart(index: number): void;
  /** A piece of the current group's text. The view is only valid during the call: copy what is kept. */
  write(bytes: Uint8Array): void;
  groupEnd(index: number, envelope: ScannedGroup): void;
}

export interface ScanOptions {
  /** Most sequences one group may have; 65,536 unless told (the scanner holds 8 bytes for each). */
  maxSequences?: number;
  /** Most groups one list may have; 65,536 unless told. */
  maxGroups?: number;
  /** After so many errors scanning stops; 20 unless told. */
  maxErrors?: number;
}

export type ScanResult = { ok: true; groups: number } | { ok: false; errors: ScanError[] };
