import { describe, expect, test } from "vitest";
import { type Purpose, RequestLimiter, type Slots, type Ticket } from "./limiter.ts";

/** Asks for tickets and notes who has got one. */
function asking(limiter: Slots) {
  const got: string[] = [];
  const tickets = new Map<string, Ticket>();
  const ask = (name: string, purpose: Purpose, signal?: AbortSignal) =>
    limiter.acquire(purpose, signal).then((ticket) => {
      got.push(name);
      tickets.set(name, ticket);
    });
  return { got, ask, ticket: (name: string) => tickets.get(name), settle: () => Promise.resolve().then(() => {}) };
}

describe("caps", () => {
  test("each purpose has its own", async () => {
    const { ask, got, ticket, settle } = asking(new RequestLimiter({ training: 2, evaluation: 1, connections: 100 }));
    for (const name of ["t1", "t2", "t3"]) void ask(name, "training");
    for (const name of ["e1", "e2"]) void ask(name, "evaluation");
    await settle();
    expect(got).toEqual(["t1", "t2", "e1"]);
    ticket("e1")?.release();
    await settle();
    expect(got).toEqual(["t1", "t2", "e1", "e2"]);
    ticket("t2")?.release();
    await settle();
    expect(got).toEqual(["t1", "t2", "e1", "e2", "t3"]);
  });

  test("of an endpoint come on top of the shared ones, and what it said last counts", async () => {
    const shared = new RequestLimiter({ training: 3, connections: 100 });
    const endpoint = { id: 1, max_training_requests: 1, max_evaluation_requests: 1 };
    const first = asking(shared.of(endpoint));
    const other = asking(shared.of({ id: 2, max_training_requests: 9, max_evaluation_requests: 9 }));
    for (const name of ["a1", "a2"]) void first.ask(name, "training");
    for (const name of ["b1", "b2", "b3"]) void other.ask(name, "training");
    await first.settle();
    expect([first.got, other.got]).toEqual([["a1"], ["b1", "b2"]]);
    other.ticket("b1")?.release();
    await first.settle();
    expect([first.got, other.got]).toEqual([["a1"], ["b1", "b2", "b3"]]);
    const again = asking(shared.of({ ...endpoint, max_training_requests: 2 }));
    other.ticket("b2")?.release();
    void again.ask("a3", "training");
    await first.settle();
    expect([first.got, again.got]).toEqual([["a1", "a2"], []]);
  });

  test("a connection is free once headers are there, the slot when all is over", async () => {
    const { ask, got, ticket, settle } = asking(new RequestLimiter({ training: 2, connections: 1 }));
    for (const name of ["a", "b", "c"]) void ask(name, "training");
    await settle();
    expect(got).toEqual(["a"]);
    ticket("a")?.headersArrived();
    ticket("a")?.headersArrived();
    await settle();
    expect(got).toEqual(["a", "b"]);
    ticket("b")?.headersArrived();
    await settle();
    expect(got).toEqual(["a", "b"]);
    ticket("a")?.release();
    ticket("a")?.release();
    await settle();
    expect(got).toEqual(["a", "b", "c"]);
  });

  test("evaluation leaves a connection to training", async () => {
    const { ask, got, settle } = asking(new RequestLimiter({ connections: 3 }));
    for (const name of ["e1", "e2", "e3"]) void ask(name, "evaluation");
    void ask("t1", "training");
    await settle();
    expect(got).toEqual(["e1", "e2", "t1"]);
  });

  test("five connections by default", async () => {
    const { ask, got, settle } = asking(new RequestLimiter());
    for (let index = 0; index < 7; index++) void ask(`t${index}`, "training");
    await settle();
    expect(got).toHaveLength(5);
  });

  test("must be positive", () => {
    expect(() => new RequestLimiter({ training: 0 })).toThrow("at least 1, not 0");
  });
});

test("whoever gives up leaves the queue, and takes nothing", async () => {
  const limiter = new RequestLimiter({ training: 1 });
  const { ask, got, ticket, settle } = asking(limiter);
  const giveUp = new AbortController();
  void ask("a", "training");
  const given = ask("b", "training", giveUp.signal);
  void ask("c", "training");
  await settle();
  giveUp.abort(new Error("enough"));
  await expect(given).rejects.toThrow("enough");
  expect(limiter.waiting).toBe(1);
  ticket("a")?.release();
  await settle();
  expect(got).toEqual(["a", "c"]);
  await expect(limiter.acquire("training", giveUp.signal)).rejects.toThrow("enough");
});
