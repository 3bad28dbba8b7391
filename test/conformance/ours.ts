import { expect } from "vitest";

/** What is asked of an answer where the recorded one is a defect: the right value, in code. */
export type Expectation = (answer: { status: number; body: unknown }) => void;

const json =
  (status: number, body: unknown): Expectation =>
  (answer) =>
    expect(answer).toEqual({ status, body });
const matches =
  (status: number, body: object): Expectation =>
  (answer) =>
    expect(answer).toMatchObject({ status, body });

/** A batch of the groups whose first tokens are these, in any order. */
const batchOf =
  (...firstTokens: number[]): Expectation =>
  (answer) => {
    expect(answer.status).toBe(200);
    expect(firstTokensOf(answer.body).toSorted((a, b) => a - b)).toEqual(firstTokens);
  };
const noBatch = json(200, { batch: null });

/** A 422 at this place whose words name all of these. */
const refused =
  (loc: (string | number)[], ...names: string[]): Expectation =>
  (answer) => {
    expect(answer).toMatchObject({ status: 422, body: { detail: [{ loc }] } });
    for (const name of names) expect(JSON.stringify(answer.body)).toContain(name);
  };

function firstTokensOf(body: unknown): number[] {
  const batch: unknown = Reflect.get(Object(body), "batch");
  if (!Array.isArray(batch)) throw new Error(`not a batch: ${JSON.stringify(body)}`);
  return batch.map((group: { tokens: number[][] }) => group.tokens[0]?.[0] ?? Number.NaN);
}

const registered = (answer: { status: number; body: unknown }) =>
  expect(answer).toMatchObject({ status: 200, body: { uuid: expect.anything() } });

const success = (wandb_name: string) =>
  json(200, {
    status: "success",
    env_id: 0,
    wandb_name,
    checkpoint_dir: "/ckpt",
    starting_step: 0,
    checkpoint_interval: 10,
    num_steps: 100,
  });

/** By scenario, then by the index of the step that has an `ours`. */
export const ours: Readonly<Record<string, Readonly<Record<number, Expectation>>>> = {
  "register null project": { 0: registered },
  "environment before the first batch poll": { 1: success("env_0") },
  "environment null name": { 2: success("env_0") },
  "two batches queued": {
    5: batchOf(1, 11),
    6: json(200, { current_step: 1, queue_size: 2 }),
    7: batchOf(21, 31),
    8: json(200, { current_step: 2, queue_size: 0 }),
  },
  "group sizes that do not tile": { 3: batchOf(1, 11) },
  "odd sizes with an exact sum": { 3: batchOf(1, 11) },
  "group larger than the batch": { 1: refused(["body", "tokens"], "8", "4"), 3: batchOf(21) },
  "unknown item fields": {
    2: (answer) => {
      batchOf(1)(answer);
      const [group] = Object(answer.body).batch;
      expect(Object.keys(group)).toEqual(expect.arrayContaining(KNOWN_KEYS));
    },
  },
  "token is a numeric string": { 1: refused(["body", "tokens", 0, 0]), 2: noBatch },
  "token is an integral float": { 2: batchOf(5) },
  "score is a boolean": { 1: refused(["body", "scores", 0]), 2: noBatch },
  "lengths disagree": { 1: refused(["body", "scores"], "2", "1"), 2: noBatch },
  "empty group": { 1: refused(["body", "tokens"]), 2: json(200, { current_step: 0, queue_size: 0 }) },
  "environment status, group size one": { 6: matches(200, { queue_size: 2, self_queue_size: 0, env_weight: 0.5 }) },
  "environment status by query": {
    3: json(200, {
      current_step: 0,
      queue_size: 0,
      unallocated_fraction: 1,
      self_queue_size: 0,
      max_group_size: 1,
      env_weight: 1,
    }),
  },
  "environment status unknown": {
    2: (answer) => {
      expect(answer.status).toBe(404);
      expect(JSON.stringify(answer.body)).toContain("env_id 5");
    },
  },
  "environment weight zero": { 3: matches(200, { env_weight: 0.01 }) },
  "minimum allocation met": { 9: noBatch, 11: batchOf(1, 11, 31, 41) },
  reset: { 3: json(200, { batch_size: -1, max_token_len: -1 }) },
  "batch after reset": { 2: matches(200, { status: "error", batch: [] }) },
  "data before register": { 2: batchOf(1) },
  "score is NaN": {
    1: refused(["body", "scores", 0], "finite"),
    2: noBatch,
    3: json(200, { current_step: 0, queue_size: 0 }),
  },
};

/** Keys every group of a batch has. */
export const KNOWN_KEYS = [
  "tokens",
  "masks",
  "scores",
  "advantages",
  "ref_logprobs",
  "messages",
  "generation_params",
  "inference_logprobs",
  "overrides",
  "group_overrides",
  "images",
  "env_id",
  "distill_token_ids",
  "distill_logprobs",
];
