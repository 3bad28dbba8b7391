import type { z } from "zod";
import type { RolloutLease } from "../../../src/wire/rollouts.ts";
import type { BaseConfig } from "../base-config.ts";
import type { Environment } from "../define.ts";
import type { Outcome } from "../definition.ts";
import type { Split } from "../items.ts";
import type { Policy } from "../policy.ts";
import { Random } from "../random.ts";
import type { ConfigOf } from "../read-config.ts";
import type { Rollout } from "../trajectory/index.ts";
import { during, Failure } from "./failure.ts";
import { FollowUps } from "./follow-ups.ts";
import { scoreGroup } from "./score-group.ts";

/** What running an environment takes, apart from the lease. */
export interface RunContext<Own extends z.ZodRawShape, Item, State, R extends Rollout> {
  readonly environment: Environment<Own, Item, State, R>;
  readonly config: ConfigOf<Own>;
  /** Its max_token_length is the trainer's where that is less. */
  readonly base: BaseConfig;
  readonly state: State;
  readonly env: Readonly<Record<string, unknown>>;
  readonly policy: Policy;
  readonly signal: AbortSignal;
  /** Ends when the invocation is over. */
  readonly invocation: AbortSignal;
}

/** What a lease came to. */
export interface LeaseResult<Item, R> {
  /** To hand in, in the wire's form; none: the lease is closed as skipped. */
  readonly groups: readonly object[];
  /** Why the lease is skipped; null when there are groups. */
  readonly reason: string | null;
  readonly message: string;
  /** Why some of several groups were dropped. */
  readonly dropped: readonly string[];
  readonly followUps: readonly Item[];
  readonly outcome: Outcome<Item, R>;
}

type GroupLease = Pick<RolloutLease, "env_id" | "item" | "backlog" | "seed">;

/**
 * Draws the item of a lease, generates its groups and scores them. Talks to the inference endpoint alone.
 * @throws Failure
 */
export async function runGroup<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  run: RunContext<Own, Item, State, R>,
  lease: GroupLease,
): Promise<LeaseResult<Item, R>> {
  const { environment, config, base, state, env, policy, signal } = run;
  const item = await during("item", () => leasedItem(run, lease));
  const followUps = new FollowUps<Item>(environment.definition.item !== undefined);
  const shared = {
    item,
    config,
    state,
    env,
    signal,
    followUp: followUps.add,
  };
  const random = new Random(lease.seed, "rollouts");
  const generated = await during("rollout", () =>
    environment.generate({ ...shared, policy, random, size: base.group_size }),
  );
  if ("nothing" in generated) {
    const { nothing: reason, message } = generated;
    const outcome = { item, kind: "skipped" as const, reason, rollouts: [], scores: [] };
    return { groups: [], reason, message, dropped: [], followUps: followUps.items, outcome };
  }
  const judged = await Promise.all(
    generated.groups.map((rollouts) =>
      scoreGroup(environment, base, { ...shared, rollouts }, { envId: lease.env_id, size: generated.size }),
    ),
  );
  const groups = judged.flatMap((one) => (one.reason === null ? [one] : []));
  const dropped = judged.flatMap(({ reason }) => (reason === null ? [] : [reason]));
  expectRoom(
    groups.reduce((sum, { sequences }) => sum + sequences, 0),
    base,
  );
  const reason = groups.length > 0 ? null : (dropped[0] ?? "no_rollouts");
  return {
    groups: groups.map(({ group }) => group),
    reason,
    message: "",
    dropped,
    followUps: followUps.items,
    outcome: {
      item,
      kind: reason === null ? "submitted" : "skipped",
      reason,
      rollouts: judged.flatMap(({ kept }) => kept),
      scores: judged.flatMap(({ scores }) => scores),
    },
  };
}

async function leasedItem<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  run: RunContext<Own, Item, State, R>,
  { item, backlog }: GroupLease,
): Promise<Item> {
  if (item !== null) return drawItem(run, "train", item);
  const schema = run.environment.definition.item;
  if (schema === undefined)
    throw new Error("a follow-up item came, but the definition has no `item` schema to read it");
  return schema.parse(backlog);
}

/** Item `index` of a split. */
export async function drawItem<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  { environment, config, base, state, env, invocation }: Omit<RunContext<Own, Item, State, R>, "policy" | "signal">,
  split: Split,
  index: number,
): Promise<Item> {
  const random = Random.of(environment.name, base.seed, split, index);
  return environment.definition.items(index, { config, state, split, random, env, invocation });
}

/** The run refuses a lease's groups when they are more, so it is better said here. */
function expectRoom(sequences: number, { lease_sequences, group_size }: BaseConfig): void {
  const room = lease_sequences ?? group_size;
  if (sequences <= room) return;
  throw new Failure(
    "rollout",
    `the lease brings ${sequences} sequences, but has room for ${room}: raise lease_sequences, to the most that all groups ` +
      "of a lease can have together (a rollout that forks has several)",
  );
}
