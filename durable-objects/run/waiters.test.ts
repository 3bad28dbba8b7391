import { expect, test } from "vitest";
import { type Served, Waiters } from "./waiters.ts";

/** Requests that wait until they can be served. */

interface Request {
  readonly name: string;
}

/** Waiters that are served, in their order, as long as there is something to give; `during` runs while one is served. */
function made(during: (waiters: Waiters<Request, string>) => void = () => undefined) {
  const stock: string[] = [];
  function* serve(requests: readonly Request[]): Generator<Served<Request, string>> {
    for (const request of requests) {
      const answer = stock.shift();
      if (answer === undefined) return;
      yield { request, answer };
      during(waiters);
    }
  }
  const waiters: Waiters<Request, string> = new Waiters(serve, ({ name }) => `nothing for ${name}`);
  const wait = (names: readonly string[]) => names.map((name) => waiters.wait({ name }, 60_000));
  return { stock, waiters, wait };
}

test("who waits longest is served first, and the others go on waiting in their order", async () => {
  const { stock, waiters, wait } = made();
  const answers = wait(["a", "b", "c"]);
  stock.push("1", "2");
  waiters.wake();
  expect(await Promise.all(answers.slice(0, 2))).toEqual(["1", "2"]);
  expect([waiters.count, waiters.first?.name, waiters.requests().map(({ name }) => name)]).toEqual([1, "c", ["c"]]);
  waiters.dismiss();
  expect(await answers[2]).toBe("nothing for c");
  expect(waiters.first).toBeNull();
});

test("who was served is not served again when something changes meanwhile", async () => {
  const served: string[] = [];
  const { stock, waiters, wait } = made((during) => {
    served.push(
      during
        .requests()
        .map(({ name }) => name)
        .join(""),
    );
    if (served.length === 1) during.wake();
  });
  const answers = wait(["a", "b", "c"]);
  stock.push("1", "2", "3");
  waiters.wake();
  expect(await Promise.all(answers)).toEqual(["1", "2", "3"]);
  expect(served).toEqual(["bc", "c", ""]);
});

test("whose time is up hears it, and the others go on waiting", async () => {
  const { waiters } = made();
  const late = waiters.wait({ name: "late" }, 60_000);
  expect(await waiters.wait({ name: "soon" }, 5)).toBe("nothing for soon");
  expect(waiters.count).toBe(1);
  waiters.dismiss();
  expect(await late).toBe("nothing for late");
});

test("a newcomer doesn't put off the look at those who wait", async () => {
  const { stock, waiters, wait } = made();
  const [first] = wait(["first"]);
  stock.push("1");
  let isServed = false;
  void first?.then(() => {
    isServed = true;
  });
  const newcomers = setInterval(() => void waiters.wait({ name: "newcomer" }, 60_000), 200);
  try {
    await expect.poll(() => isServed, { timeout: 5_000 }).toBe(true);
  } finally {
    clearInterval(newcomers);
    waiters.dismiss();
  }
});
