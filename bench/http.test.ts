import { describe, expect, it } from "vitest";
import { type Answer, AnswerReader } from "./http.ts";

const BODY = "the body, \r\n\r\n with line ends";
const SIZED = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`;
const CHUNKED = `HTTP/1.1 503 Busy\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nthe b\r\n${(BODY.length - 5).toString(16)}\r\n${BODY.slice(5)}\r\n0\r\n\r\n`;

function read(text: string, pieceLength: number): Answer | null {
  const reader = new AnswerReader();
  for (let at = 0; at < text.length; at += pieceLength) {
    const answer = reader.push(Buffer.from(text.slice(at, at + pieceLength), "latin1"));
    if (answer) return at + pieceLength >= text.length ? answer : null;
  }
  return null;
}

describe("AnswerReader", () => {
  it.each([1, 2, 3, 7, 30, 1000])("reads answers that come in pieces of %i bytes", (pieceLength) => {
    const sized = read(SIZED, pieceLength);
    expect(sized?.status).toBe(200);
    expect(sized?.headers.get("content-type")).toBe("text/plain");
    expect(Buffer.concat(sized?.body ?? []).toString()).toBe(BODY);

    const chunked = read(CHUNKED, pieceLength);
    expect(chunked?.status).toBe(503);
    expect(Buffer.concat(chunked?.body ?? []).toString()).toBe(BODY);
  });

  it("reads an answer without a body", () => {
    expect(read("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", 5)?.body).toEqual([]);
  });
});
