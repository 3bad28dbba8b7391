import { describe, expect, expectTypeOf, test } from "vitest";
import { z } from "zod";
import { defineEnvironment } from "./define.ts";
import { nothing } from "./definition.ts";
import type { Policy } from "./policy.ts";
import type { Random } from "./random.ts";
import type { Rollout } from "./trajectory/index.ts";

describe("types flow from what is written", () => {
  test("config, item, rollout and state", () => {
    interface Episode extends Rollout {
      readonly won: boolean;
    }
    defineEnvironment({
      name: "typed",
      config: z.object({ level: z.int().default(3), max_tokens: z.int().default(9) }),
      presets: { tiny: { level: 1, group_size: 2 } },
      items: (index, { config, state, random, split }) => {
        expectTypeOf(config.level).toEqualTypeOf<number>();
        expectTypeOf(config.group_size).toEqualTypeOf<number>();
        expectTypeOf(config.floor).toEqualTypeOf<number | null>();
        expectTypeOf(state).toEqualTypeOf<{ wins: number }>();
        expectTypeOf(random).toEqualTypeOf<Random>();
        expectTypeOf(split).toEqualTypeOf<"train" | "evaluation">();
        return { question: `${index}` };
      },
      rollout: async ({ item, policy, index }): Promise<Episode> => {
        expectTypeOf(item).toEqualTypeOf<{ question: string }>();
        expectTypeOf(policy).toEqualTypeOf<Policy>();
        expectTypeOf(index).toEqualTypeOf<number>();
        const trajectory = policy.trajectory({ messages: [{ role: "user", content: item.question }] });
        await trajectory.turn(policy.sampling);
        return { ...trajectory.rollout(), won: true };
      },
      score: ({ item, rollouts, state }) => {
        expectTypeOf(item.question).toEqualTypeOf<string>();
        expectTypeOf(rollouts).toEqualTypeOf<readonly Episode[]>();
        expectTypeOf(state.wins).toEqualTypeOf<number>();
        return rollouts.map(({ won }) => (won ? 1 : null));
      },
      state: {
        schema: z.object({ wins: z.int() }),
        initial: ({ level }) => ({ wins: level }),
        reduce: (state, { item, rollouts, scores }) => {
          expectTypeOf(item).toEqualTypeOf<{ question: string }>();
          expectTypeOf(rollouts).toEqualTypeOf<readonly Episode[]>();
          expectTypeOf(scores).toEqualTypeOf<readonly number[]>();
          return { wins: state.wins + 1 };
        },
      },
      evaluate: async ({ items, run }) => {
        expectTypeOf(items).toEqualTypeOf<readonly { question: string }[]>();
        const rollouts = await run(items);
        expectTypeOf(rollouts[0]?.rollout).toEqualTypeOf<Episode | undefined>();
        return { wins: rollouts.filter(({ rollout }) => rollout.won).length };
      },
    });
  });

  test("a prompt makes plain rollouts, and without a state it is null", () => {
    const environment = defineEnvironment({
      name: "plain",
      config: z.object({}),
      items: (index) => index,
      prompt: (item, { state }) => {
        expectTypeOf(item).toEqualTypeOf<number>();
        expectTypeOf(state).toEqualTypeOf<null>();
        return [{ role: "user", content: `${item}` }];
      },
      score: ({ rollouts }) => {
        expectTypeOf(rollouts).toEqualTypeOf<readonly Rollout[]>();
        return rollouts.map(() => 1);
      },
    });
    expect(environment.stateful).toBe(false);
  });

  test("what doesn't fit is refused", () => {
    const common = {
      name: "refused",
      config: z.object({ level: z.int().default(1) }),
      items: (index: number) => index,
    };
    const score = ({ rollouts }: { rollouts: readonly unknown[] }) => rollouts.map(() => 1);
    const rollouts = async () => nothing("no_reason");
    // @ts-expect-error a preset sets what there is
    defineEnvironment({ ...common, score, rollouts, presets: { tiny: { levels: 2 } } });
    // @ts-expect-error scores are numbers
    defineEnvironment({ ...common, score: () => ["one"], rollouts });
    // @ts-expect-error one way to generate
    defineEnvironment({ ...common, score, rollouts, prompt: () => [] });
  });
});

test.each(["Gsm8k", "8k", "my env", ""])("an environment can't be called %j", (name) => {
  expect(() =>
    defineEnvironment({ name, config: z.object({}), items: () => 0, prompt: () => [], score: () => [] }),
  ).toThrow(JSON.stringify(name));
});

describe("settings", () => {
  const environment = defineEnvironment({
    name: "set",
    config: z.object({ level: z.int().min(1).max(5).default(3), max_tokens: z.int().default(64) }),
    presets: { tiny: { level: 1, group_size: 2, filters: { keep_equal_scores: true } } },
    items: () => 0,
    prompt: () => [],
    score: () => [],
  });

  test.each(["https://models.test/tokenizer.json", "r2://DATA/toy/tokenizer.json"])(
    "a tokenizer may be at %s",
    (at) => {
      const { base } = environment.readConfig({ config: JSON.stringify({ renderer: { tokenizer: at } }) });
      expect(base.renderer).toEqual({ tokenizer: at, template: null });
    },
  );

  test("are defaults, then the preset, then CONFIG", () => {
    const { config, base } = environment.readConfig({
      preset: "tiny",
      config: '{"level":2,"filters":{"keep_longest":true}}',
    });
    expect(config).toMatchObject({ level: 2, group_size: 2, max_tokens: 64, temperature: 1 });
    expect(base.filters).toEqual({
      keep_equal_scores: true,
      keep_longest: true,
      keep_partial: false,
      min_trained_tokens: 1,
    });
    expect(environment.readConfig({}).config).toMatchObject({ level: 3, group_size: 8 });
  });

  test.each([
    { sources: { preset: "tinny" }, message: 'PRESET is "tinny", but set has these presets: tiny' },
    { sources: { config: "{level: 2}" }, message: "CONFIG is no JSON" },
    { sources: { config: "[1]" }, message: "CONFIG is [1]; give an object of settings" },
    { sources: { config: '{"levle":2}' }, message: 'CONFIG has the unknown setting "levle"; there are: ' },
    { sources: { config: '{"filters":{"keep":2}}' }, message: 'CONFIG has the unknown setting "filters.keep"' },
    { sources: { config: '{"level":"two"}' }, message: 'CONFIG: level is "two": Invalid input: expected number' },
    { sources: { config: '{"level":9}' }, message: "CONFIG: level is 9: Too big" },
    {
      sources: { config: '{"filters":{"min_trained_tokens":-1}}' },
      message: "CONFIG: filters.min_trained_tokens is -1",
    },
    { sources: { config: '{"lease_seconds":60}' }, message: "lease_seconds is 60 and rollout_timeout_seconds 300" },
    { sources: { config: '{"lease_sequences":4}' }, message: "lease_sequences is 4 and group_size 8" },
  ])("$sources is refused: $message", ({ sources, message }) => {
    expect(() => environment.readConfig(sources)).toThrow(message);
  });
});
