/**
 * Scored groups as a stock environment posts them: Python's `json.dumps` (", " and ": "), token ids up to 150,000,
 * masks of -100 over the prompt, and float32 logprobs that print with about 17 digits.
 *
 * Every post is a different group: only its scores change, and they stand at the end, so that neither the text before
 * them nor its deflate stream is made again. The load generator shares its cores with the server it measures.
 */
import { constants, crc32, deflateRawSync } from "node:zlib";

export interface Shape {
  readonly sequences: number;
  /** Tokens of one sequence. */
  readonly tokens: number;
}

export type SizeName = "small" | "medium" | "large";
export const SIZES: Readonly<Record<SizeName, Shape & { readonly nominalBytes: number }>> = {
  small: { sequences: 4, tokens: 64, nominalBytes: 7_000 },
  medium: { sequences: 8, tokens: 1024, nominalBytes: 225_000 },
  large: { sequences: 16, tokens: 8192, nominalBytes: 3_600_000 },
};
/** For the measurements that depend on how many groups are queued, and not on their bytes. */
export const TINY: Shape = { sequences: 2, tokens: 4 };

export type Encoding = "plain" | "gzip";

export interface Body {
  /** What goes on the wire, in order. */
  readonly parts: readonly Buffer[];
  /** Length of the JSON text, whatever the encoding. */
  readonly textBytes: number;
}

const LARGEST_TOKEN_ID = 150_000;
const SMALLEST_LOGPROB = 1e-3; // below 1e-4 Python and JavaScript print floats differently
const PROMPT_SHARE = 1 / 3;
/** The level of Python's `gzip.compress`, which BaseEnv uses on every body of 1,024 bytes and more. */
const GZIP_LEVEL = 9;
const GZIP_HEADER = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 2, 0xff]);

interface Prefix {
  readonly text: Buffer;
  /** Raw deflate of `text`, ended by a sync flush. */
  readonly deflated: Buffer;
  readonly crc: number;
}

/** An endless supply of distinct groups of one shape; the same seed and order of calls give the same bodies. */
export class GroupSource {
  readonly #shape: Shape;
  readonly #prefixes: Prefix[];
  #made = 0;
  envId: number | null = null;

  /** @param distinct how many different token arrays to make; the groups take turns with them. */
  constructor(shape: Shape, distinct: number, seed = 1) {
    this.#shape = shape;
    const random = randomFrom(seed);
    this.#prefixes = Array.from({ length: distinct }, () => makePrefix(shape, random));
  }

  /** The next group, and the number in its first score, by which a delivered group can be told. */
  next(encoding: Encoding): Body & { readonly serial: number } {
    const serial = ++this.#made;
    const prefix = this.#prefixes[serial % this.#prefixes.length] as Prefix;
    const suffix = Buffer.from(this.#suffix(serial));
    const textBytes = prefix.text.length + suffix.length;
    const parts = encoding === "plain" ? [prefix.text, suffix] : gzipMember(prefix, suffix);
    return { parts, textBytes, serial };
  }

  /** A body for `/scored_data_list`. */
  list(count: number): Body {
    const texts = Array.from({ length: count }, () => Buffer.concat(this.next("plain").parts).toString());
    const text = Buffer.from(`[${texts.join(", ")}]`);
    return { parts: [text], textBytes: text.length };
  }

  #suffix(serial: number): string {
    const others = Array.from({ length: this.#shape.sequences - 1 }, (_, i) => (i % 2 === 0 ? "-1.0" : "1.0"));
    return `, "scores": [${[`${serial}.5`, ...others].join(", ")}], "env_id": ${this.envId}}`;
  }
}

/** The serial that {@link GroupSource.next} put into a group's first score. */
export function serialOf(scores: readonly number[]): number {
  return Math.floor(scores[0] ?? Number.NaN);
}

function makePrefix(shape: Shape, random: () => number): Prefix {
  const tokens: string[] = [];
  const masks: string[] = [];
  const logprobs: string[] = [];
  const promptTokens = Math.round(shape.tokens * PROMPT_SHARE);
  for (let sequence = 0; sequence < shape.sequences; sequence++) {
    const ids = Array.from({ length: shape.tokens }, () => tokenId(random));
    tokens.push(list(ids));
    masks.push(list(ids.map((id, position) => (position < promptTokens ? -100 : id))));
    logprobs.push(list(ids.map((_, position) => (position < promptTokens ? "1.0" : logprob(random)))));
  }
  const text = Buffer.from(
    `{"tokens": ${list(tokens)}, "masks": ${list(masks)}, "inference_logprobs": ${list(logprobs)}`,
  );
  const deflated = deflateRawSync(text, { level: GZIP_LEVEL, finishFlush: constants.Z_SYNC_FLUSH });
  return { text, deflated, crc: crc32(text) };
}

/** Frequent tokens have low ids, so ids spread about evenly over their logarithm. */
function tokenId(random: () => number): number {
  return Math.floor(LARGEST_TOKEN_ID ** (0.3 + 0.7 * random()));
}

function logprob(random: () => number): string {
  return String(-Math.max(SMALLEST_LOGPROB, Math.fround(random() ** 3 * 4)));
}

function list(values: readonly (string | number)[]): string {
  return `[${values.join(", ")}]`;
}

/** One gzip member: the ready deflate stream, then the suffix in a stored block, which costs no compression. */
function gzipMember(prefix: Prefix, suffix: Buffer): Buffer[] {
  const stored = Buffer.alloc(5);
  stored[0] = 1; // the last block, not compressed
  stored.writeUInt16LE(suffix.length, 1);
  stored.writeUInt16LE(~suffix.length & 0xffff, 3);
  const trailer = Buffer.alloc(8);
  trailer.writeUInt32LE(crc32(suffix, prefix.crc), 0);
  trailer.writeUInt32LE(prefix.text.length + suffix.length, 4);
  return [GZIP_HEADER, prefix.deflated, Buffer.concat([stored, suffix, trailer])];
}

/** mulberry32: uniform in [0, 1). */
function randomFrom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
