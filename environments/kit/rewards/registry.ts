import { z } from "zod";
import { accuracy, cascading, format, r1 } from "./accuracy.ts";
import { combined, type WeightedReward } from "./combined.ts";
import { cosineLength } from "./cosine-length.ts";
import type { RewardDefinition, RewardFunction } from "./define.ts";
import { reasoningSteps } from "./reasoning-steps.ts";
import { repetitionPenalty } from "./repetition-penalty.ts";

const named = z.looseObject({ name: z.string(), weight: z.number().default(1) });

/** Any reward function's spec: a name, or `{name, weight, …its parameters}`. Unknown names and parameters are issues. */
const weightedReward: z.ZodType<WeightedReward> = z
  .union(
    [z.string().transform((name) => ({ name, weight: 1 })), named],
    "give a reward function's name, or {name, weight, …}",
  )
  .transform(({ name, weight, ...parameters }, context) => {
    const definition = definitions.get(name);
    if (definition === undefined) {
      const message = `no reward function is called "${name}"; there are ${rewardNames().join(", ")}`;
      context.issues.push({ code: "custom", input: name, path: ["name"], message });
      return z.NEVER;
    }
    const result = definition.schema.safeParse(parameters);
    if (!result.success) {
      for (const { message, path } of result.error.issues) {
        context.issues.push({ code: "custom", input: parameters, path, message: `${name}: ${message}` });
      }
      return z.NEVER;
    }
    const compute = result.data(name);
    return { weight, compute: weight === 1 ? compute : (group) => compute(group).map((score) => score * weight) };
  });

const definitions = new Map<string, RewardDefinition>([
  ["accuracy", accuracy],
  ["format", format],
  ["reasoning-steps", reasoningSteps],
  ["repetition-penalty", repetitionPenalty],
  ["cosine-length", cosineLength],
  ["r1", r1],
  ["cascading", cascading],
  ["combined", combined(z.lazy(() => weightedReward))],
]);

/** Reads a reward function's JSON spec, for use in an environment's configuration; the output applies the weight. */
export const rewardSchema: z.ZodType<RewardFunction> = weightedReward.transform(({ compute }) => compute);

/**
 * The reward function that a JSON spec describes: `"accuracy"`, `{name: "format", weight: 0.5, tags: ["think"]}`, or
 * `{name: "combined", rewards: [...]}`. The function throws a RewardError where one of its parts fails.
 * @throws ZodError that names what is wrong with the spec, and the known names if one is not known.
 */
export function reward(spec: unknown): RewardFunction {
  return rewardSchema.parse(spec);
}

/** Names that specs may use, in the order they were registered. */
export function rewardNames(): string[] {
  return [...definitions.keys()];
}

/**
 * Adds a reward function under a name of its own.
 * @throws when the name is taken: one name never means two functions.
 */
export function register(name: string, definition: RewardDefinition): void {
  if (definitions.has(name)) throw new Error(`a reward function called "${name}" is registered already`);
  definitions.set(name, definition);
}
