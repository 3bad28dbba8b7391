import { z } from "zod";
import type { Commit, Verdict } from "../../../durable-objects/payloads.ts";
import { Random } from "../random.ts";
import { evict, note } from "./evict.ts";

/** Faults of a shard's call to the Run; of those that happen, each as often as its number says. */
const FAULTS = {
  /** The shard dies when its rows are on disk and the Run has heard nothing: only what it finds when it wakes can tell. */
  dies_before: 4,
  /** The shard dies when the Run has taken the commit and before it knows that. */
  dies_after: 2,
  /** The call never arrives. */
  call_lost: 1,
  /** The call arrives, and its answer doesn't. */
  answer_lost: 2,
  /** The Run dies while the call is on its way or at work. */
  run_dies: 2,
} as const;

const settings = z.object({
  CHAOS_SEED: z.coerce.number(),
  /** Which process this is, counted from 0: each life draws other faults. */
  CHAOS_LIFE: z.coerce.number(),
  /** Share of the calls that fail. */
  CHAOS_COMMIT_FAULTS: z.coerce.number(),
});

/** All objects of a local server share one isolate, and so these. */
let rate: number | null = null;
const streams = new Map<string, Random>();

export function setCommitFaults(share: number): void {
  rate = share;
}

/** The binding by which a shard reaches its Run, with faults. */
export function faultyCommits(ctx: DurableObjectState, env: Env): Env["RUN"] {
  const { CHAOS_SEED, CHAOS_LIFE, CHAOS_COMMIT_FAULTS } = settings.parse(env);
  rate ??= CHAOS_COMMIT_FAULTS;
  const name = `commits/${CHAOS_LIFE}/${ctx.id.name}`;
  const random = streams.get(name) ?? new Random(CHAOS_SEED, name);
  streams.set(name, random);

  const commit = async (run: string, commits: Commit): Promise<readonly (readonly Verdict[])[]> => {
    const stub = env.RUN.getByName(run);
    if (!random.chance(rate ?? 0)) return stub.commit(commits);
    const fault = random.pick(FAULTS);
    note(fault);
    switch (fault) {
      case "dies_before":
        await ctx.storage.sync();
        return evict(ctx, "shard");
      case "dies_after":
        await stub.commit(commits);
        return evict(ctx, "shard");
      case "call_lost":
        throw new Error("the campaign lost this call");
      case "answer_lost":
        await stub.commit(commits);
        throw new Error("the campaign lost this answer");
      case "run_dies": {
        const answer = stub.commit(commits);
        void env.RUN.getByName(run)
          .fetch("http://object/evict")
          .catch(() => undefined);
        return answer;
      }
    }
  };
  return wrap(env.RUN, "getByName", (run: string) =>
    wrap(env.RUN.getByName(run), "commit", (commits: Commit) => commit(run, commits)),
  );
}

/** An object of which one method is another. */
function wrap<T extends object>(target: T, method: string, replacement: unknown): T {
  return new Proxy(target, {
    get: (_target, name) => (name === method ? replacement : Reflect.get(target, name, target)),
  });
}
