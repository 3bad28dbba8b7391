import { z } from "zod";
import type {
  CommonDefinition,
  GroupContext,
  Groups,
  Nothing,
  Prompt,
  PromptDefinition,
  RolloutDefinition,
  RolloutsDefinition,
  StateDefinition,
} from "./definition.ts";
import { Random } from "./random.ts";
import { type ConfigOf, type ConfigSources, type ReadConfig, readConfig } from "./read-config.ts";
import type { Rollout } from "./trajectory/index.ts";

const NAME = /^[a-z][a-z0-9-]{0,46}$/;

/** What an environment generated for a lease. */
export interface Generated<R> extends Groups<R> {
  /** Rollouts that each group must have; null where the environment cuts its groups as it likes. */
  readonly size: number | null;
}

/** An environment, ready to run. */
export interface Environment<Own extends z.ZodRawShape, Item, State, R extends Rollout> {
  readonly name: string;
  readonly definition: CommonDefinition<Own, Item, State, R>;
  /** Of an environment without state: null, and it stays so. */
  readonly state: StateDefinition<ConfigOf<Own>, State, Item, R>;
  readonly stateful: boolean;
  /** @throws ConfigError */
  readConfig(sources: ConfigSources): ReadConfig<ConfigOf<Own>>;
  generate(context: GroupContext<ConfigOf<Own>, State, Item>): Promise<Generated<R> | Nothing>;
}

/**
 * Defines an environment. It generates by one of `prompt`, `rollout` and `rollouts`. Types flow from what is written: write
 * `config`, `items`, the generating function, `score` and `state` in this order.
 *
 * @example
 * export const environment = defineEnvironment({
 *   name: "sums",
 *   config: z.object({ largest: z.int().default(9) }),
 *   items: (_, { random, config }) => ({ a: random.int(0, config.largest), b: random.int(0, config.largest) }),
 *   prompt: ({ a, b }) => [{ role: "user", content: `${a} + ${b} =` }],
 *   score: ({ item, rollouts }) => rollouts.map(({ text }) => (Number(text) === item.a + item.b ? 1 : -1)),
 * });
 */
export function defineEnvironment<Own extends z.ZodRawShape, Item, State = null>(
  definition: PromptDefinition<Own, Item, State>,
): Environment<Own, Item, State, Rollout>;
export function defineEnvironment<Own extends z.ZodRawShape, Item, R extends Rollout, State = null>(
  definition: RolloutDefinition<Own, Item, State, R>,
): Environment<Own, Item, State, R>;
export function defineEnvironment<Own extends z.ZodRawShape, Item, R extends Rollout, State = null>(
  definition: RolloutsDefinition<Own, Item, State, R>,
): Environment<Own, Item, State, R>;
export function defineEnvironment<Own extends z.ZodRawShape, Item, R extends Rollout, State>(
  definition:
    | PromptDefinition<Own, Item, State>
    | RolloutDefinition<Own, Item, State, R>
    | RolloutsDefinition<Own, Item, State, R>,
): Environment<Own, Item, State, Rollout> | Environment<Own, Item, State, R> {
  if (definition.prompt !== undefined) {
    const { prompt } = definition;
    return environment(definition, async ({ item, policy, size, random, config, state, env, signal }) => {
      const asked = await prompt(item, { random, config, state, env, signal });
      const { messages, ...options }: Prompt = "messages" in asked ? asked : { messages: asked };
      return { groups: [await policy.sample(messages, size, options)], size };
    });
  }
  if (definition.rollout !== undefined) {
    const { rollout } = definition;
    return environment(definition, async ({ size, random, ...context }) => {
      // Streams of their own: which rollout is quicker must not decide who gets which number.
      const seed = random.int(0, 2 ** 32 - 1);
      const rollouts = Array.from({ length: size }, (_, index) =>
        rollout({ ...context, index, random: new Random(seed, "rollout", index) }),
      );
      return { groups: [await Promise.all(rollouts)], size };
    });
  }
  const { rollouts } = definition;
  return environment(definition, async (context) => {
    const generated = await rollouts(context);
    if (isGroup(generated)) return { groups: [generated], size: context.size };
    return "nothing" in generated ? generated : { ...generated, size: null };
  });
}

function environment<Own extends z.ZodRawShape, Item, State, R extends Rollout>(
  definition: CommonDefinition<Own, Item, State, R>,
  generate: Environment<Own, Item, State, R>["generate"],
): Environment<Own, Item, State, R> {
  const { name, config: own, presets = {} } = definition;
  if (!NAME.test(name)) {
    throw new RangeError(
      `an environment can't be called ${JSON.stringify(name)}: give a letter, then up to 46 letters, digits or dashes, all lower case`,
    );
  }
  return {
    name,
    definition,
    state: definition.state ?? noState(),
    stateful: definition.state !== undefined,
    readConfig: (sources) => readConfig({ environment: name, own, presets }, sources),
    generate,
  };
}

function noState<Config, State, Item, R>(): StateDefinition<Config, State, Item, R> {
  const schema = z.custom<State>((value) => value === null);
  return { schema, initial: () => schema.parse(null), reduce: (state) => state };
}

function isGroup<R>(generated: readonly R[] | Groups<R> | Nothing): generated is readonly R[] {
  return Array.isArray(generated);
}
