import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { ApiError } from "./api-error.ts";
import { bodyChunks, readBody } from "./body.ts";

const MIB = 1024 * 1024;

/** With `announced` the request says how long it is, as one with a body from memory does; without, it is chunked. */
function post(body: Uint8Array, encoding: string | null, announced: boolean): Request {
  const headers = new Headers(encoding === null ? {} : { "content-encoding": encoding });
  if (announced) headers.set("content-length", `${body.length}`);
  return new Request("http://lachesis/", { method: "POST", headers, body: announced ? body : streamOf(body) });
}

function streamOf(body: Uint8Array): ReadableStream {
  const { readable, writable } = new IdentityTransformStream();
  const writer = writable.getWriter();
  // A reader that has enough cancels, and the rest of the write fails.
  writer.write(body).then(
    () => writer.close().catch(() => undefined),
    () => undefined,
  );
  return readable;
}

const limited = (bytes: number) => ({ bytes, remedy: "send less" });

async function outcome(request: Request, limit: number): Promise<number | string> {
  try {
    return (await readBody(request, limited(limit))).length;
  } catch (error) {
    return error instanceof ApiError ? `${error.status} ${String(error.detail)}` : String(error);
  }
}

const text = (length: number) => new Uint8Array(length).fill(0x20);

/** Text that gzip can't shrink, so that the compressed body is a long one too. */
function noise(length: number): Uint8Array {
  const bytes = new Uint8Array(length);
  for (let at = 0; at < length; at += 65_536) crypto.getRandomValues(bytes.subarray(at, at + 65_536));
  return bytes;
}

describe.each([true, false])("a body, its length announced: %s", (announced) => {
  test.each([
    ["empty", 0],
    ["of a few bytes", 10],
    ["of one piece", MIB],
    ["of several reads", 3 * MIB + 1],
  ])("%s is read whole at the limit and refused past it", async (_what, length) => {
    const limit = Math.max(1, length);
    const bytes = noise(length);
    expect(await readBody(post(bytes, null, announced), limited(limit))).toEqual(bytes);
    expect(await readBody(post(gzipSync(bytes), "gzip", announced), limited(limit))).toEqual(bytes);
    const longer = noise(limit + 1);
    expect(await outcome(post(longer, null, announced), limit)).toMatch(/^413 /);
    expect(await outcome(post(gzipSync(longer), "gzip", announced), limit)).toMatch(/^413 /);
  });

  test("that decodes to a thousand times its size is refused, and hardly more than the limit decoded", async () => {
    let decoded = 0;
    const read = async () => {
      for await (const chunk of bodyChunks(post(gzipSync(text(100 * MIB)), "gzip", announced), limited(2 * MIB)))
        decoded += chunk.length;
    };
    await expect(read()).rejects.toMatchObject({ status: 413 });
    expect(decoded).toBeLessThanOrEqual(2 * MIB);
  });

  test.each([
    ["cut off", gzipSync(noise(1_000)).subarray(0, 500)],
    ["of another format", new TextEncoder().encode('{"tokens":[]}')],
    ["with a wrong checksum", Uint8Array.from(gzipSync("hello"), (byte, at) => (at === 20 ? byte ^ 1 : byte))],
    ["cut off and long", gzipSync(noise(300_000)).subarray(0, 200_000)],
  ])("gzip %s is the stock server's 400", async (_what, bytes) => {
    expect(await outcome(post(bytes, "gzip", announced), MIB)).toBe("400 Invalid gzip payload");
  });
});

test.each([
  ["identity", text(5), 5],
  ["GZIP", gzipSync(text(5)), 5],
  ["x-gzip", gzipSync(text(5)), 5],
  ["br", text(5), "415 content-encoding br is not understood: send gzip or none"],
  ["gzip, gzip", text(5), "415 content-encoding gzip, gzip is not understood: send gzip or none"],
])("content-encoding %s", async (encoding, bytes, expected) => {
  expect(await outcome(post(bytes, encoding, true), MIB)).toBe(expected);
});

test.each([
  [1_000, "1000 bytes"],
  [64 * 1024, "64 KiB"],
  [1.5 * MIB, "1.5 MiB"],
])("past %d bytes the refusal names the limit and what to do", async (limit, name) => {
  expect(await outcome(post(text(limit + 1), null, true), limit)).toBe(
    `413 the body is larger than ${name} (decoded): send less`,
  );
});
