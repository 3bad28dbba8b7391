import type { Fetch } from "../transport.ts";

export interface StubRequest {
  readonly url: string;
  readonly body: unknown;
  readonly headers: Headers;
  readonly redirect: string | undefined;
}

/** A fetch that gives prepared answers, the last one for ever, and remembers what it was asked. */
export function stubFetch(...answers: (Response | Error | "hang" | "hanging body")[]) {
  const requests: StubRequest[] = [];
  const send: Fetch = async (url, init) => {
    const answer = answers[Math.min(requests.length, answers.length - 1)];
    const body: unknown = typeof init.body === "string" ? JSON.parse(init.body) : null;
    requests.push({ url, body, headers: new Headers(init.headers), redirect: init.redirect });
    // These ignore the signal on purpose: not every fetch heeds it.
    if (answer === undefined || answer === "hang") return new Promise<never>(() => {});
    if (answer === "hanging body") return new Response(new ReadableStream());
    if (answer instanceof Error) throw answer;
    return answer.clone();
  };
  return { fetch: send, requests };
}
