import { constants, crc32, deflateRawSync } from "node:zlib";

/** ID1, ID2, CM = deflate, no flags, no time, XFL = fastest, OS = unknown (RFC 1952, 2.3). */
const HEADER = new Uint8Array([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 4, 0xff]);

/** A final, empty block with fixed Huffman codes (RFC 1951, 3.2.6). */
const END_OF_DEFLATE = new Uint8Array([0x03, 0x00]);

/**
 * Makes one gzip member out of pieces of text, each compressed by itself and ended with a sync flush. Level 1: on token
 * ids it gives 0.39 of the text at 60 MB/s, level 6 gives 0.36 at 17.
 */
export class GzipMember {
  #crc = 0;
  #length = 0;

  header(): Uint8Array {
    return HEADER;
  }

  segment(text: Uint8Array): Uint8Array {
    this.#crc = crc32(text, this.#crc);
    this.#length = (this.#length + text.length) >>> 0;
    return deflateRawSync(text, { level: 1, finishFlush: constants.Z_SYNC_FLUSH });
  }

  trailer(): Uint8Array {
    const trailer = new Uint8Array(END_OF_DEFLATE.length + 8);
    trailer.set(END_OF_DEFLATE);
    const view = new DataView(trailer.buffer, END_OF_DEFLATE.length);
    view.setUint32(0, this.#crc, true);
    view.setUint32(4, this.#length, true);
    return trailer;
  }
}
