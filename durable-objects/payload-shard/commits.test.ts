import { env, runInDurableObject } from "cloudflare:test";
import { expect, test } from "vitest";
import type { Commit, Verdict } from "../payloads.ts";
import { freshRun, PLAIN } from "../testing.ts";
import { Commits } from "./commits.ts";
import { migrations } from "./schema.ts";
import { UnconfirmedCommits } from "./unconfirmed-commits.ts";

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
  send: (commit: Commit) => Promise<readonly (readonly Verdict[])[]>,
  run: (commits: Commits, sql: SqlStorage) => Promise<void>,
): Promise<void> {
  const { shard } = freshRun();
  return runInDurableObject(shard, (_instance, { storage }) => {
    let next = 1;
    return run(new Commits(storage, 0, { takeCommit: () => next++, save: () => undefined }, send), storage.sql);
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
    await expect(commits.add(1, () => [GROUP])).rejects.toThrow("the Run is down");
    const resent = commits.resend();
    const second = commits.add(1, () => [{ ...GROUP, payload: 2 }]);
    await expect(second).rejects.toThrow("the Run is down");
    await expect(resent).rejects.toThrow("not confirmed");
    isDown = false;
    expect(await commits.add(1, () => [{ ...GROUP, payload: 3 }])).toEqual([{ status: "received" }]);
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
    await Promise.all([1, 2, 3, 4].map((payload) => log.add(1, () => [{ ...GROUP, payload }])));
  });
  expect(commits.map(({ requests }) => requests.length)).toEqual([1, 3]);
});

test("the longest lists that come together are taken in messages and rows that production takes too", async () => {
  const list = (name: string) =>
    Array.from({ length: 65_536 }, (_, index) => {
      const scores = { mean: 1 / 3, min: -1 / 7, max: 2 / 3 };
      return { ...GROUP, payload: index + 1, key: `k:${name.repeat(128)}`, tokens: 123_456, longest: 7_890, scores };
    });
  const sent: number[] = [];
  const send = async (commit: Commit) => {
    sent.push(commit.requests.flat().length);
    return env.RUN.getByName("longest-lists").commit(commit);
  };
  await withCommits(send, async (commits, sql) => {
    const answers = await Promise.all(["a", "b", "c"].map((name) => commits.add(65_536, () => list(name))));
    for (const verdicts of answers) expect(verdicts).toHaveLength(65_536);
    const { bytes } = sql.exec<{ bytes: number }>("SELECT MAX(LENGTH(bytes)) AS bytes FROM commit_part").one();
    expect(bytes).toBeLessThan(2_000_000);
  });
  expect(sent).toEqual([65_536, 65_536, 65_536]);
});

test("a commit of several rows is read as it was stored, and one from before there were such rows too", async () => {
  const groups = Array.from({ length: 20_000 }, (_, index) => ({ ...GROUP, key: `k:é${index}`, payload: index + 1 }));
  const { shard } = freshRun();
  await runInDurableObject(shard, (_instance, { storage: { sql } }) => {
    const unconfirmed = new UnconfirmedCommits(sql);
    unconfirmed.add(7, [groups, [GROUP]]);
    expect(sql.exec("SELECT part FROM commit_part").toArray().length).toBeGreaterThan(2);
    expect(unconfirmed.after(6)).toEqual([7]);
    expect(unconfirmed.get(7)).toEqual([groups, [GROUP]]);
    sql.exec("DROP TABLE commit_part");
    sql.exec("CREATE TABLE unconfirmed_commit (sequence INTEGER PRIMARY KEY, requests TEXT NOT NULL)");
    sql.exec("INSERT INTO unconfirmed_commit VALUES (3, ?)", JSON.stringify([[GROUP]]));
    migrations[1]?.(sql);
    expect(unconfirmed.after(0).map((sequence) => unconfirmed.get(sequence))).toEqual([[[GROUP]]]);
  });
});
