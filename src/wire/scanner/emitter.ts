import { NO_BYTES } from "./bytes.ts";
import type { GroupSink } from "./types.ts";

/** Pieces shorter than this are gathered: calling the sink costs more than copying them. */
const SMALL = 512;
const STAGING_BYTES = 4096;

/** A staging buffer that no emitter uses: allocating one for each small body would take longer than scanning it. */
let spare: Uint8Array | null = null;

/**
 * Sends the current group's text on. Most of it are long stretches of the pushed chunk, which go to the sink as they are;
 * around a rewritten number the pieces get short, and are gathered first.
 */
export class Emitter {
  /** Output bytes of the current group. */
  bytes = 0;
  private readonly sink: GroupSink;
  private chunk = NO_BYTES;
  /** Where in the chunk the text begins that is still to be sent. */
  private from = 0;
  /** Whether a group is open and its text wanted. */
  private open = false;
  private staging: Uint8Array | null = null;
  private staged = 0;

  constructor(sink: GroupSink) {
    this.sink = sink;
  }

  /** A new chunk; what an open group has before `from` was sent already. */
  begin(chunk: Uint8Array): void {
    this.chunk = chunk;
    this.from = 0;
  }

  openGroup(from: number): void {
    this.open = true;
    this.from = from;
    this.bytes = 0;
  }

  closeGroup(): void {
    this.flush();
    this.open = false;
  }

  /** Nothing is sent any more. */
  stop(): void {
    this.open = false;
    this.staged = 0;
  }

  /** Sends the chunk's text up to `to`. */
  through(to: number): void {
    const length = to - this.from;
    if (!this.open || length <= 0) return;
    if (length < SMALL) this.stage(this.chunk, this.from, to);
    else {
      this.flush();
      this.sink.write(this.chunk.subarray(this.from, to));
    }
    this.bytes += length;
    this.from = to;
  }

  /** Sends bytes that don't stand in the chunk. */
  insert(bytes: Uint8Array): void {
    if (!this.open) return;
    if (bytes.length < SMALL) this.stage(bytes, 0, bytes.length);
    else {
      this.flush();
      this.sink.write(bytes);
    }
    this.bytes += bytes.length;
  }

  /** Leaves out the chunk's text up to `to`. */
  skip(to: number): void {
    this.from = to;
  }

  /** Ends the chunk: all but what stands from `to` on is sent, and the chunk let go. */
  finish(to: number): void {
    this.through(to);
    this.flush();
    this.chunk = NO_BYTES;
    this.from = 0;
    spare ??= this.staging;
    this.staging = null;
  }

  private stage(bytes: Uint8Array, from: number, to: number): void {
    if (this.staged + to - from > STAGING_BYTES) this.flush();
    const staging = this.staging ?? this.takeStaging();
    let at = this.staged;
    for (let source = from; source < to; source++) staging[at++] = bytes[source] ?? 0;
    this.staged = at;
  }

  private takeStaging(): Uint8Array {
    const staging = spare ?? new Uint8Array(STAGING_BYTES);
    spare = null;
    this.staging = staging;
    return staging;
  }

  private flush(): void {
    if (this.staged === 0 || this.staging === null || !this.open) return;
    this.sink.write(this.staging.subarray(0, this.staged));
    this.staged = 0;
  }
}
