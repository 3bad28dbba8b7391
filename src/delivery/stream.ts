import { GzipMember } from "./gzip.ts";

/** Smaller answers aren't worth compressing. As the stock server has it. */
const GZIP_FROM_BYTES = 1_000;

/**
 * The runtime says that the last byte was taken when it has it in a buffer of its own, some turns before it has written it
 * to the socket, and of that it says nothing. A server killed in between would leave its client with a broken body of a
 * batch that counts as delivered (of 13 batches caught by a kill, 7 were). So a delivery counts a little later; a server
 * killed meanwhile serves the batch again under the same id.
 */
const UNTIL_WRITTEN_MS = 250;

export interface StreamedText {
  /** UTF-8 before and after the pieces. */
  readonly head: string;
  readonly tail: string;
  readonly pieces: AsyncGenerator<Uint8Array>;
  /** Of the pieces together, in bytes. */
  readonly length: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface Streamed {
  readonly response: Response;
  /** Resolves when the last byte has left, rejects when the client went away or a piece could not be read. */
  readonly sent: Promise<void>;
}

/**
 * Answers with JSON text that is never whole in memory, gzipped for a client that takes gzip.
 * @throws what the first piece throws: a failure is an error status as long as nothing has been sent.
 */
export async function streamJson(
  request: Request,
  { head, tail, pieces, length, headers }: StreamedText,
): Promise<Streamed> {
  const first = await pieces.next();
  const encoder = new TextEncoder();
  const [before, after] = [encoder.encode(head), encoder.encode(tail)];
  const whole = before.length + length + after.length;
  const isGzip = whole >= GZIP_FROM_BYTES && acceptsGzip(request);
  const { readable, writable } = isGzip ? new IdentityTransformStream() : new FixedLengthStream(whole);
  const text = (async function* () {
    yield before;
    if (!first.done) yield first.value;
    yield* pieces;
    yield after;
  })();
  const sent = send(isGzip ? gzipped(text) : text, writable).then(() => scheduler.wait(UNTIL_WRITTEN_MS));
  const response = new Response(readable, {
    headers: {
      "content-type": "application/json",
      vary: "accept-encoding",
      ...headers,
      ...(isGzip ? { "content-encoding": "gzip" } : {}),
    },
    ...(isGzip ? { encodeBody: "manual" } : {}),
  });
  return { response, sent };
}

async function* gzipped(text: AsyncGenerator<Uint8Array>): AsyncGenerator<Uint8Array> {
  const member = new GzipMember();
  yield member.header();
  for await (const piece of text) yield member.segment(piece);
  yield member.trailer();
}

async function send(pieces: AsyncGenerator<Uint8Array>, writable: WritableStream): Promise<void> {
  const writer = writable.getWriter();
  try {
    for await (const piece of pieces) await writer.write(piece);
    await writer.close();
  } catch (error) {
    await writer.abort(error).catch(() => undefined);
    throw error;
  }
}

/** Whether the client listed gzip, and not with q=0. */
function acceptsGzip(request: Request): boolean {
  const accepted = request.headers.get("accept-encoding") ?? "";
  return accepted
    .split(",")
    .some((coding) => /^\s*(gzip|x-gzip|\*)\s*(;\s*q\s*=\s*(?!0(\.0*)?\s*$).*)?$/i.test(coding));
}
