import { afterEach, describe, expect, test, vi } from "vitest";
import { z } from "zod";
import { AddressError, readAddress } from "./address.ts";
import { ClientError, Transport, type TransportOptions } from "./transport.ts";

const SECRET = "SECRETTOKEN";

/** What is sent to a server at this address: its url and its Authorization. */
async function sent(
  options: Pick<TransportOptions, "url" | "token">,
): Promise<[url: string, authorization: string | null]> {
  const requests: Request[] = [];
  const fetch = async (request: Request) => {
    requests.push(request);
    return Response.json({});
  };
  await new Transport({ ...options, fetch }).send("GET", "/status", { repeatable: false });
  return [requests[0]?.url ?? "", requests[0]?.headers.get("authorization") ?? null];
}

describe("the token", () => {
  test.each<[string, Pick<TransportOptions, "url" | "token">, string, string | null]>([
    ["is the password of the address", { url: `https://x:${SECRET}@host/runs/a/` }, "https://host/runs/a", SECRET],
    ["is the password of a URL object", { url: new URL(`https://x:${SECRET}@host`) }, "https://host", SECRET],
    ["is decoded", { url: "https://x:a%2Fb@host" }, "https://host", "a/b"],
    ["that is given wins", { url: "https://x:other@host", token: SECRET }, "https://host", SECRET],
    ["that is empty is none", { url: `https://x:${SECRET}@host`, token: " " }, "https://host", SECRET],
    ["may have a newline at its end", { url: "https://host", token: `${SECRET}\n` }, "https://host", SECRET],
    ["may be missing", { url: "http://127.0.0.1:8000" }, "http://127.0.0.1:8000", null],
  ])("%s", async (_what, options, url, token) => {
    expect(await sent(options)).toEqual([`${url}/status`, token === null ? null : `Bearer ${token}`]);
  });
});

describe("an address is refused without being quoted", () => {
  test.each<[string, string, string | undefined, RegExp]>([
    ["no URL", `x:${SECRET}@host:port`, undefined, /no http or https address/],
    ["no host", `https://x:${SECRET}@`, undefined, /no http or https address/],
    ["another protocol", `ftp://x:${SECRET}@host`, undefined, /no http or https address/],
    ["the token as user", `https://${SECRET}@host`, undefined, /user and no password/],
    ["a query", `https://host/?token=${SECRET}`, undefined, /query or a fragment/],
    ["a fragment", `https://host/#${SECRET}`, undefined, /query or a fragment/],
    ["a password that can't be decoded", `https://x:${SECRET}%@host`, undefined, /%25/],
    ["a token that no header holds", "https://host", `${SECRET}\nmore`, /spaces or characters beyond ASCII/],
    ["a password that no header holds", `https://x:${SECRET}%0amore@host`, undefined, /spaces or characters/],
  ])("%s", (_what, url, token, message) => {
    const read = () => readAddress(url, token);
    expect(read).toThrow(AddressError);
    expect(read).toThrow(message);
    expect(read).toThrow(expect.objectContaining({ message: expect.not.stringContaining(SECRET) }));
  });
});

test.each<[string, () => Promise<Response>, RegExp]>([
  [
    "an answer",
    async () => new Response(`refused: Bearer ${SECRET}`, { status: 400 }),
    /^400: GET \/status was answered refused: Bearer \*{3}$/,
  ],
  [
    "an answer that is cut there",
    async () => new Response(`${"x".repeat(1_995)}${SECRET}`, { status: 400 }),
    /x\*{3}$/,
  ],
  ["a failure", () => Promise.reject(new Error(`${SECRET} is no host`)), /no answer to GET \/status: \*{3} is no host/],
])("%s that repeats the token is told without it", async (_what, fetch, message) => {
  const transport = new Transport({ url: `https://x:${SECRET}@host`, fetch });
  const error = await transport.send("GET", "/status", { repeatable: false }).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(ClientError);
  expect(error).toMatchObject({ message: expect.stringMatching(message) });
});

describe("an answer", () => {
  const answer = z.object({ step: z.int() });
  const page = (text: string, type: string | null) => () =>
    new Response(text, type === null ? {} : { headers: { "content-type": type } });
  const json = "application/json; charset=utf-8";
  const broken = () => {
    const body = new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode('{"st')),
      pull: (controller) => controller.error(new Error(`${SECRET} is gone`)),
    });
    return new Response(body, { headers: { "content-type": json } });
  };

  /** Asks a server that answers like this first, then as it should. */
  async function ask(first: () => Response, repeatable: boolean): Promise<[outcome: unknown, calls: number]> {
    let calls = 0;
    const fetch = async () => (++calls === 1 ? first() : Response.json({ step: 3 }));
    const transport = new Transport({ url: "https://host", token: SECRET, fetch });
    const outcome = await transport.json("GET", "/status?a=b", answer, { repeatable }).then(
      ({ body }) => body,
      (error: unknown) => (error instanceof ClientError ? { status: error.status, message: error.message } : error),
    );
    return [outcome, calls];
  }

  const brokeOff = /^the answer to GET \/status broke off: /;
  test.each<[string, () => Response, RegExp]>([
    ["that breaks off", broken, new RegExp(`${brokeOff.source}\\*{3} is gone$`)],
    [
      "that ends too early",
      page('{"step": 1', json),
      new RegExp(`${brokeOff.source}it is no JSON after 10 characters$`),
    ],
    ["that is empty", page("", json), new RegExp(`${brokeOff.source}it is no JSON after 0 characters$`)],
  ])("%s is asked for again where that does no harm, and else said to be none", async (_what, first, message) => {
    expect(await ask(first, true)).toEqual([{ step: 3 }, 2]);
    expect(await ask(first, false)).toEqual([{ status: 0, message: expect.stringMatching(message) }, 1]);
  });

  test.each<[string, () => Response, RegExp]>([
    [
      "a page",
      page("<!doctype html>hush", "text/html"),
      /^200: GET \/status was answered with 19 characters \(text\/html\) that are no JSON: is that the address/,
    ],
    ["no type", () => new Response(new Uint8Array([60])), /1 characters \(no content type\) that are no JSON/],
    [
      "another server's",
      page('{"hush": 1}', json),
      /something unknown \(step: [^)]*\): is that the address of a Lachesis/,
    ],
    ["something else", page('"hush"', json), /something unknown \(all of it: /],
  ])("that is %s is no server's of this kind, and isn't quoted", async (_what, first, message) => {
    const [outcome, calls] = await ask(first, true);
    expect([outcome, calls]).toEqual([{ status: 200, message: expect.stringMatching(message) }, 1]);
    expect(JSON.stringify(outcome)).not.toContain("hush");
  });
});

describe("a server that says when to come back", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  /** Asks once, and again if told to; `random` from 0 to 1. Tells of every try and how the last one ended. */
  function ask(retryAfter: string, random: number, signal?: AbortSignal) {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    vi.spyOn(Math, "random").mockReturnValue(random);
    let calls = 0;
    const fetch = async () =>
      ++calls === 1 ? new Response("busy", { status: 503, headers: { "retry-after": retryAfter } }) : new Response("");
    const sent = new Transport({ url: "http://host", fetch, signal }).send("GET", "/status", { repeatable: true });
    const ended = sent.then(
      ({ status }) => status,
      (error: unknown) => (error instanceof ClientError ? error.message : error),
    );
    return { calls: () => calls, ended };
  }

  test.each([
    ["30", 0, 30_000],
    ["30", 1, 37_500],
    ["60", 0.5, 67_500],
    ["0", 1, 0],
  ])("after %s s, with a chance of %d, is asked again after %i ms", async (retryAfter, random, ms) => {
    const { calls, ended } = ask(retryAfter, random);
    if (ms > 0) {
      await vi.advanceTimersByTimeAsync(ms - 1);
      expect(calls()).toBe(1);
    }
    await vi.advanceTimersByTimeAsync(1);
    expect(await ended).toBe(200);
    expect(calls()).toBe(2);
  });

  test("later than a minute is given up", async () => {
    const { calls, ended } = ask("61", 0);
    expect(await ended).toMatch(/^503: .*busy$/);
    expect(calls()).toBe(1);
  });

  test("isn't waited for once nothing is to be tried again", async () => {
    const controller = new AbortController();
    const { calls, ended } = ask("30", 0, controller.signal);
    await vi.advanceTimersByTimeAsync(1_000);
    controller.abort();
    expect(await ended).toMatch(/^503: .*busy$/);
    expect(calls()).toBe(1);
  });
});
