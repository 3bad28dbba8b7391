import { gzipSync } from "node:zlib";
import fc from "fast-check";

const encoder = new TextEncoder();

/** What happens to a body's text between its author and the wire. */
const textChange: fc.Arbitrary<(text: Uint8Array) => Uint8Array> = fc.oneof(
  { weight: 12, arbitrary: fc.constant((text: Uint8Array) => text) },
  fc.nat(9_999).map((at) => (text: Uint8Array) => text.subarray(0, at % (text.length + 1))),
  fc
    .constantFrom("\ufeff", " ", "\n\t ", "\u0000", "null", "[", ")]}',\n")
    .map((before) => (text: Uint8Array) => joined(encoder.encode(before), text)),
  fc
    .constantFrom(" ", "\n", ",", "x", "\u0000", "{}", "[]", "]", "}", "\ufeff")
    .map((after) => (text: Uint8Array) => joined(text, encoder.encode(after))),
  fc.constant((text: Uint8Array) => joined(text, text)),
  fc.constant((text: Uint8Array) => joined(text, encoder.encode("\n"), text)),
  fc.constantFrom("", " ", "\ufeff").map((whole) => () => encoder.encode(whole)),
  fc.constant((text: Uint8Array) => new Uint8Array([...text].flatMap((byte) => [byte, 0]))),
  fc
    .tuple(
      fc.nat(9_999),
      fc.nat(2),
      fc.oneof(
        fc.uint8Array({ maxLength: 3 }),
        fc.constantFrom([0xed, 0xa0, 0x80], [0xc0, 0x80], [0xff], [0xe2, 0x82], [0xf4, 0x90, 0x80, 0x80]),
        fc.constantFrom(...'[]{}",:.-+eE019\\ntf').map((sign) => encoder.encode(sign)),
      ),
    )
    .map(([place, removed, added]) => (text: Uint8Array) => {
      const at = place % (text.length + 1);
      return joined(text.subarray(0, at), Uint8Array.from(added), text.subarray(at + removed));
    }),
);

/** How a body goes on the wire. `intact` says whether who decodes it gets the text. */
interface Wire {
  readonly bytes: Uint8Array;
  readonly encoding: string | null;
  readonly intact: "yes" | "no" | "perhaps";
}

const plain =
  (encoding: string | null) =>
  (bytes: Uint8Array): Wire => ({ bytes, encoding, intact: "yes" });
const gzipped =
  (encoding: string, intact: Wire["intact"], change: (bytes: Uint8Array) => Uint8Array = (bytes) => bytes) =>
  (text: Uint8Array): Wire => ({ bytes: change(gzipSync(text)), encoding, intact });

const wire: fc.Arbitrary<(text: Uint8Array) => Wire> = fc.oneof(
  { weight: 20, arbitrary: fc.constantFrom(plain(null), plain(null), plain("identity"), plain(" IDENTITY ")) },
  { weight: 5, arbitrary: fc.constantFrom(...["gzip", "x-gzip", "GZip", " gzip"].map((name) => gzipped(name, "yes"))) },
  fc.constantFrom("br", "deflate", "gzip, gzip", "zstd", "x".repeat(1_000)).map((encoding) => {
    return (bytes: Uint8Array): Wire => ({ bytes, encoding, intact: "no" });
  }),
  fc.constant((bytes: Uint8Array): Wire => ({ bytes, encoding: "gzip", intact: "no" })),
  fc.nat(9_999).map((at) => gzipped("gzip", "no", (bytes) => bytes.subarray(0, at % bytes.length))),
  // What it hits may be a header byte that nobody looks at.
  fc
    .tuple(fc.nat(9_999), fc.integer({ min: 1, max: 255 }))
    .map(([at, flip]) =>
      gzipped("gzip", "perhaps", (bytes) => bytes.with(at % bytes.length, (bytes[at % bytes.length] ?? 0) ^ flip)),
    ),
  // A second member is text that follows; other things that follow are ignored or refused.
  fc
    .constantFrom([0], [1, 2, 3], [0x1f, 0x8b])
    .map((after) => gzipped("gzip", "perhaps", (bytes) => joined(bytes, Uint8Array.from(after)))),
  fc.constant((text: Uint8Array): Wire => {
    const half = text.length >> 1;
    const bytes = joined(gzipSync(text.subarray(0, half)), gzipSync(text.subarray(half)));
    return { bytes, encoding: "gzip", intact: "perhaps" };
  }),
);

/** Lengths a client may announce; null for the true one, "none" for a stream. */
const announced = fc.oneof(
  { weight: 10, arbitrary: fc.constantFrom(null, null, null, "none") },
  fc.constantFrom("0", "1", "-1", "abc", "", "1e3", "99999999999", "NaN", "0x10"),
);

/** From a body's text to what is sent. */
export interface Posted {
  /** What was meant, after the changes to the text. */
  readonly text: Uint8Array;
  readonly bytes: Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
  readonly intact: Wire["intact"];
}

export const posting: fc.Arbitrary<(text: string) => Posted> = fc
  .tuple(textChange, wire, announced)
  .map(([change, send, length]) => (body: string) => {
    const text = change(encoder.encode(body));
    const { bytes, encoding, intact } = send(text);
    const headers: Record<string, string> = {};
    if (encoding !== null) headers["content-encoding"] = encoding;
    if (length !== "none") headers["content-length"] = length ?? `${bytes.length}`;
    // A length beyond the limit is believed.
    return { text, bytes, headers, intact: length === "99999999999" && intact === "yes" ? "perhaps" : intact };
  });

function joined(...parts: readonly Uint8Array[]): Uint8Array {
  const whole = new Uint8Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}
