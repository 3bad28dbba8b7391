import { HALF_BYTES, MARK_TEXTS, SPECIAL, VOCABULARY } from "./vocabulary.ts";

const IDS: ReadonlyMap<string, number> = new Map(VOCABULARY.map((token, id) => [token, id]));
const FIRST_HALF_BYTE = idOf(HALF_BYTES[0] ?? "");
const SPECIAL_IDS: ReadonlySet<number> = new Set(Object.values(SPECIAL).map(idOf));

/** The ids of the tokens that shape a conversation. */
export const SPECIAL_ID = {
  padding: idOf(SPECIAL.padding),
  beginning: idOf(SPECIAL.beginning),
  end: idOf(SPECIAL.end),
  system: idOf(SPECIAL.system),
  user: idOf(SPECIAL.user),
  assistant: idOf(SPECIAL.assistant),
  tool: idOf(SPECIAL.tool),
} as const;

/** Pieces of a text: an answer's mark, a word with the space before it, a number, any character. */
const PIECE = new RegExp(
  `(?<mark>${MARK_TEXTS.map(RegExp.escape).join("|")})|(?<word> ?[A-Za-z]+)|(?<digits>[0-9]+)|(?<other>.)`,
  "gsu",
);
const SPECIALS = new RegExp(`(${Object.values(SPECIAL).map(RegExp.escape).join("|")})`);

export interface EncodeOptions {
  /** Reads special tokens where their text stands, as a server does with a templated prompt. Off, they are spelled. */
  readonly special?: boolean;
}

/** The ids of a text. {@link decode} gives exactly this text back, whatever it is (lone surrogates become U+FFFD). */
export function encode(text: string, { special = false }: EncodeOptions = {}): number[] {
  if (!special) return encodePlain(text);
  return text.split(SPECIALS).flatMap((part, index) => (index % 2 === 1 ? [idOf(part)] : encodePlain(part)));
}

export interface DecodeOptions {
  /** Leaves special tokens out, as in a completion's text. */
  readonly skipSpecial?: boolean;
}

/**
 * The text of some ids. Half a byte that has no other half becomes U+FFFD.
 * @throws RangeError for an id that isn't in the vocabulary
 */
export function decode(ids: readonly number[], { skipSpecial = false }: DecodeOptions = {}): string {
  const bytes: number[] = [];
  const texts: string[] = [];
  const flush = () => {
    if (bytes.length === 0) return;
    texts.push(textOfHalves(bytes));
    bytes.length = 0;
  };
  for (const id of ids) {
    const half = id - FIRST_HALF_BYTE;
    if (half >= 0 && half < HALF_BYTES.length) {
      bytes.push(half);
      continue;
    }
    if (skipSpecial && SPECIAL_IDS.has(id)) continue;
    flush();
    texts.push(tokenText(id));
  }
  flush();
  return texts.join("");
}

/** @throws RangeError for an id that isn't in the vocabulary */
export function tokenText(id: number): string {
  const token = VOCABULARY[id];
  if (token === undefined) {
    throw new RangeError(`there is no token ${id}: the vocabulary has ids 0 to ${VOCABULARY.length - 1}`);
  }
  return token;
}

function encodePlain(text: string): number[] {
  const ids: number[] = [];
  for (const match of text.matchAll(PIECE)) {
    const { mark, word, digits, other } = match.groups ?? {};
    if (mark !== undefined) ids.push(idOf(mark));
    else if (word !== undefined) pushWord(ids, word);
    else if (digits !== undefined) pushNumber(ids, digits, text, match.index);
    else if (other !== undefined) pushCharacter(ids, other);
  }
  return ids;
}

/** A word is one token, with or without its space, or a space and letters. */
function pushWord(ids: number[], word: string): void {
  const whole = IDS.get(word);
  if (whole !== undefined) ids.push(whole);
  else if (word.startsWith(" ")) ids.push(idOf(" "), ...wordOrLetters(word.slice(1)));
  else ids.push(...wordOrLetters(word));
}

function wordOrLetters(word: string): number[] {
  const whole = IDS.get(word);
  return whole === undefined ? [...word].map(idOf) : [whole];
}

/** 0 to 99 is one token where it stands alone; digits within a word, and longer numbers, are spelled. */
function pushNumber(ids: number[], digits: string, text: string, at: number): void {
  const alone = !/[A-Za-z]/.test(`${text[at - 1] ?? ""}${text[at + digits.length] ?? ""}`);
  const whole = alone ? IDS.get(digits) : undefined;
  if (whole !== undefined) ids.push(whole);
  else ids.push(...[...digits].map(idOf));
}

function pushCharacter(ids: number[], character: string): void {
  const known = IDS.get(character);
  if (known !== undefined) {
    ids.push(known);
    return;
  }
  for (const byte of new TextEncoder().encode(character)) {
    ids.push(FIRST_HALF_BYTE + (byte >> 4), FIRST_HALF_BYTE + (byte & 15));
  }
}

function textOfHalves(halves: readonly number[]): string {
  const bytes = new Uint8Array(halves.length >> 1);
  for (let i = 0; i < bytes.length; i++) bytes[i] = ((halves[2 * i] ?? 0) << 4) | (halves[2 * i + 1] ?? 0);
  const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
  return halves.length % 2 === 0 ? text : `${text}\ufffd`;
}

function idOf(token: string): number {
  const id = IDS.get(token);
  if (id === undefined) throw new RangeError(`"${token}" is not in the vocabulary`);
  return id;
}
