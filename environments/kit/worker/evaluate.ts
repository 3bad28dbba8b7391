import type { z } from "zod";
import { MAX_METRIC_NAME, MAX_METRICS } from "../../../src/wire/rollouts.ts";
import type { EvaluatedRollout } from "../definition.ts";
import { Random } from "../random.ts";
import type { Rollout } from "../trajectory/index.ts";
import { during, Failure } from "./failure.ts";
import { drawItem, type RunContext } from "./group.ts";
import { scoresOf } from "./scores.ts";

export type Metrics = Readonly<Record<string, number>>;

/**
 * Evaluates on the held-out items: the environment's own way, or one rollout for each item and the mean of their scores.
 * @throws Failure
 */
export async function evaluate<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  run: RunContext<Own, Item, State, R>,
  seed: number,
): Promise<Metrics> {
  const { environment, config, base, state, env, policy, signal } = run;
  const items = await during("item", () =>
    Promise.all(Array.from({ length: base.eval_items }, (_, index) => drawItem(run, "evaluation", index))),
  );
  const each = async (chosen: readonly Item[]) =>
    (
      await Promise.all(chosen.map((item, index) => evaluateItem(run, item, new Random(seed, "evaluation", index))))
    ).flat();
  const { definition } = environment;
  const { evaluate: own } = definition;
  if (own === undefined) return summary(await each(items), items.length);
  const random = new Random(seed, "evaluate");
  return during("evaluate", async () =>
    expectMetrics(await own.call(definition, { policy, items, random, config, state, env, signal, run: each })),
  );
}

async function evaluateItem<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  run: RunContext<Own, Item, State, R>,
  item: Item,
  random: Random,
): Promise<EvaluatedRollout<Item, R>[]> {
  const { environment, config, base, state, env, policy, signal } = run;
  const shared = { item, config, state, env, signal, followUp: () => {} };
  const generated = await during("rollout", () => environment.generate({ ...shared, policy, random, size: 1 }));
  if ("nothing" in generated) return [];
  const scored = await Promise.all(
    generated.groups.map(async (rollouts) => {
      const scores = await scoresOf(environment, base, { ...shared, rollouts });
      return rollouts.map((rollout, index) => ({ item, rollout, score: scores[index]?.score ?? null }));
    }),
  );
  return scored.flat();
}

function summary<Item, R extends Rollout>(rollouts: readonly EvaluatedRollout<Item, R>[], items: number): Metrics {
  const scores = rollouts.flatMap(({ score }) => (score === null ? [] : [score]));
  if (scores.length === 0) throw new Failure("evaluate", `none of the ${items} held-out items got a score`);
  const cutOff = rollouts.filter(({ rollout }) => rollout.sequences.some(({ truncated }) => truncated));
  return {
    score: scores.reduce((sum, score) => sum + score, 0) / scores.length,
    items,
    dropped: rollouts.length - scores.length,
    truncated: cutOff.length / rollouts.length,
  };
}

/** What the run would refuse fails here, in the words of the environment's author. */
function expectMetrics(metrics: Metrics): Metrics {
  const all = Object.entries(metrics);
  if (all.length > MAX_METRICS) {
    throw new Failure(
      "evaluate",
      `evaluate gave ${all.length} metrics, and an evaluation has at most ${MAX_METRICS}: leave out those that nobody looks at`,
    );
  }
  for (const [name, value] of all) {
    if (name.length < 1 || name.length > MAX_METRIC_NAME) {
      const shown = JSON.stringify(name.slice(0, 32));
      throw new Failure(
        "evaluate",
        `a metric's name has 1 to ${MAX_METRIC_NAME} characters; the one that begins ${shown} has ${name.length}`,
      );
    }
    if (!Number.isFinite(value))
      throw new Failure("evaluate", `the metric ${name} is ${value}; metrics are finite numbers`);
  }
  return metrics;
}
