import { z } from "zod";

/** Plain loops: zod on every number of a batch is several times slower. */
function numbers(check: (value: number) => boolean, expected: string) {
  return z.custom<number[]>(
    (input) => Array.isArray(input) && input.every((value) => typeof value === "number" && check(value)),
    { error: `expected an array of ${expected}` },
  );
}

const ids = numbers((value) => Number.isInteger(value) && value >= 0, "token ids");
const integers = numbers(Number.isInteger, "whole numbers");
const finite = numbers(Number.isFinite, "finite numbers");

/** Clients that leave an optional field out send null or an empty list. */
const absent = <T>(schema: z.ZodType<T[]>) =>
  schema.nullish().transform((value) => (value === undefined || value === null || value.length === 0 ? null : value));

const fields = z.object({
  /** `[sequence][position]` */
  tokens: z.array(ids).min(1),
  /** `[sequence][position]`: −100 where not trained on. */
  masks: z.array(integers),
  /** `[sequence]` */
  scores: finite,
  /** `[sequence][position]`: of the policy that sampled; above 0 (1.0) where there is none. */
  inference_logprobs: absent(z.array(finite)),
  /** `[sequence][position]`: used as they are, in place of the scores. */
  advantages: absent(z.array(finite)),
  /** `[sequence]` */
  overrides: absent(z.array(z.looseObject({ set_advantage_to_zero: z.boolean().nullish() }).nullable())),
});

/** A group as a batch of the wire has it; unknown fields are left out. */
export const group = fields.check(({ value, issues }) => {
  const { tokens, scores } = value;
  const expectLength = (field: string, found: number, wanted: number, what: string) => {
    if (found === wanted) return;
    issues.push({
      code: "custom",
      input: found,
      path: [field],
      message: `has ${found} ${what} for ${wanted} of tokens`,
    });
  };
  expectLength("scores", scores.length, tokens.length, "sequences");
  const { masks, inference_logprobs, advantages } = value;
  for (const [field, rows] of Object.entries({ masks, inference_logprobs, advantages })) {
    if (rows === null) continue;
    expectLength(field, rows.length, tokens.length, "sequences");
    for (const [sequence, row] of rows.entries()) {
      expectLength(`${field}[${sequence}]`, row.length, tokens[sequence]?.length ?? 0, "positions");
    }
  }
  if (value.overrides !== null) expectLength("overrides", value.overrides.length, tokens.length, "sequences");
});

export const batch = z.array(group).min(1, "a batch has at least one group");

export type Group = z.output<typeof group>;
export type Batch = z.output<typeof batch>;
export type BatchInput = z.input<typeof batch>;
