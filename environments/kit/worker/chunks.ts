/** Limits of the platform's queues: messages of a batch, bytes of a message and of a batch. */
const MAX_MESSAGES = 100;
const MAX_MESSAGE_BYTES = 128_000;
const MAX_BATCH_BYTES = 256_000;

/** What the platform adds to a message, by its documentation about 100 bytes. */
const OVERHEAD_BYTES = 100;

export interface Chunk<T> {
  readonly messages: readonly T[];
  /** Then it is one message, which no queue takes. */
  readonly tooLarge: boolean;
}

/** Cuts messages into batches that a queue takes, in order. */
export function chunkMessages<T>(messages: readonly T[]): Chunk<T>[] {
  const encoder = new TextEncoder();
  const chunks: Chunk<T>[] = [];
  let open: T[] = [];
  let openBytes = 0;
  const close = () => {
    if (open.length > 0) chunks.push({ messages: open, tooLarge: false });
    open = [];
    openBytes = 0;
  };
  for (const message of messages) {
    const bytes = encoder.encode(JSON.stringify(message)).length + OVERHEAD_BYTES;
    if (bytes > MAX_MESSAGE_BYTES) {
      chunks.push({ messages: [message], tooLarge: true });
      continue;
    }
    if (open.length === MAX_MESSAGES || openBytes + bytes > MAX_BATCH_BYTES) close();
    open.push(message);
    openBytes += bytes;
  }
  close();
  return chunks;
}
