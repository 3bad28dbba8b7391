import { runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Commit, Verdict } from "../payloads.ts";
import { freshRun, PLAIN } from "../testing.ts";
import { Commits } from "./commits.ts";

const GROUP = {
  environment: null,
  sequences: 2,
  tokens: 6,
  ...PLAIN,
  payload: 1,
  rows: 1,
  bytes: 1,
};
const received = ({ requests }: Commit): Verdict[][] =>
  requests.map((groups) => groups.map(() => ({ status: "received" })));

/** Commits in a real shard's storage, whose calls of the Run are `send`. */
function withCommits(
  send: (commit: Commit) => Promise<Verdict[][]>,
  run: (commits: Commits) => Promise<void>,
): Promise<void> {
  const { shard } = freshRun();
  return runInDurableObject(shard, (_instance, { storage }) => {
    let next = 1;
    return run(new Commits(storage, 0, { takeCommit: () => next++, save: () => undefined }, send));
  });
}

test("a request that comes while a resend fails is answered, and what failed goes first", async () => {
  const sent: number[] = [];
  let isDown = true;
  const send = async (commit: Commit) => {
    if (isDown) throw new Error("the Run is down");
    sent.push(commit.sequence);
    return received(commit);
  };
  await withCommits(send, async (commits) => {
    await expect(commits.add(() => [GROUP])).rejects.toThrow("the Run is down");
    const resent = commits.resend();
    const second = commits.add(() => [{ ...GROUP, payload: 2 }]);
    await expect(second).rejects.toThrow("the Run is down");
    await expect(resent).rejects.toThrow("not confirmed");
    isDown = false;
    expect(await commits.add(() => [{ ...GROUP, payload: 3 }])).toEqual([{ status: "received" }]);
    await commits.resend();
  });
  // The second request was refused before it was stored, so nothing of it may ever be sent.
  expect(sent).toEqual([1, 2]);
});

test("requests that come together share a commit", async () => {
  const commits: Commit[] = [];
  const send = async (commit: Commit) => {
    commits.push(commit);
    return received(commit);
  };
  await withCommits(send, async (log) => {
    await Promise.all([1, 2, 3, 4].map((payload) => log.add(() => [{ ...GROUP, payload }])));
  });
  expect(commits.map(({ requests }) => requests.length)).toEqual([1, 3]);
});
