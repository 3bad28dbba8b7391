import { constants, zstdCompressSync, zstdDecompressSync } from "node:zlib";

/**
 * How the text of a payload's rows is stored: as it is when short, else as a zstd frame of level 1. That shrinks token
 * ids, masks and logprobs to 0.3 in less time than it takes to write the difference, and the objects hold three times as
 * much. Deflate would save the delivery some work and costs three times as much here.
 */

/** Shorter rows gain less than a compressor costs to set up. */
const COMPRESS_FROM_BYTES = 16 * 1024;

/** The first bytes of a zstd frame (RFC 8878, 3.1.1). No UTF-8 text holds them: the second only continues a character. */
const ZSTD_MAGIC = [0x28, 0xb5, 0x2f, 0xfd];

const OPTIONS = { params: { [constants.ZSTD_c_compressionLevel]: 1 } };

/** The stored form of a row. Never a view of `text`, and never longer than it. */
export function encodeRow(text: Uint8Array): Uint8Array {
  if (text.length < COMPRESS_FROM_BYTES) return text.slice();
  const frame = zstdCompressSync(text, OPTIONS);
  return frame.length < text.length ? new Uint8Array(frame) : text.slice();
}

/** The text of a stored row. */
export function decodeRow(stored: Uint8Array): Uint8Array {
  return ZSTD_MAGIC.every((byte, index) => stored[index] === byte) ? zstdDecompressSync(stored) : stored;
}
