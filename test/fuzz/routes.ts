import fc from "fast-check";
import type { Field, Fields, Message } from "./settings-oracle.ts";
import type { Section } from "./snapshot.ts";
import { type Tree, treeOf } from "./tree.ts";

/** A route that takes a body, what its bodies are, and what one that is taken may change. */
export interface FuzzedRoute {
  readonly method: "GET" | "POST" | "PUT";
  /** `{id}` stands for an id. */
  readonly path: string;
  readonly body: fc.Arbitrary<Tree>;
  /** Largest body. Those with groups have another limit. */
  readonly bodyBytes?: number;
  readonly judged: { readonly groups: "group" | "list" } | Message;
  readonly changes: readonly Section[];
  /** Statuses of a body that is as it should be. */
  readonly answers: readonly number[];
  /** One of them beside 200 with which it was taken all the same. */
  readonly alsoTaken?: number;
}

const integer = (min?: number, max?: number): Field => ({
  is: "integer",
  ...(min === undefined ? {} : { min }),
  ...(max === undefined ? {} : { max }),
});
const number = (min: number, max: number): Field => ({ is: "number", min, max });
const optional = (field: Field): Field => ({ ...field, optional: true });
const orNull = (field: Field): Field => ({ ...field, nullable: true });
const words = (longest: number): Field => ({ is: "text", longest });

const REASON: Field = { is: "text", longest: 64, pattern: /^[a-z][a-z0-9_]{0,63}$/ };
const MESSAGE: Field = { is: "text", longest: 65_536 };
const PLAIN_URL = /^https?:\/\/[a-z0-9-]+(\.[a-z0-9-]+)*(:\d{1,4})?(\/[a-z0-9/-]*)?$/;

const NAME: Field = { is: "text", longest: 128, pattern: /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/ };

const FILTERS: Fields = {
  equal_scores: optional({ is: "boolean" }),
  min_mean_score: optional(orNull({ is: "number" })),
  max_mean_score: optional(orNull({ is: "number" })),
  max_sequence_length: optional(orNull(integer(1))),
};

const REGISTER: Fields = {
  wandb_group: orNull(words(256)),
  wandb_project: orNull(words(256)),
  batch_size: integer(1, 65_536),
  max_token_len: integer(),
  checkpoint_dir: words(4_096),
  save_checkpoint_interval: integer(),
  starting_step: integer(),
  num_steps: integer(),
  mixing: optional({ is: "one of", values: ["fifo", "weighted"] }),
  payload_shards: optional(integer(1, 64)),
  max_batches_offpolicy: optional(integer(1, 1_000)),
  max_staleness: optional(orNull(integer(0))),
  keep_steps: optional(integer(0, 10_000)),
  keep_bytes: optional(integer(0)),
  max_queue_sequences: optional(integer(1)),
  max_queue_bytes: optional(integer(1)),
  deduplicate: optional({ is: "boolean" }),
  filters: optional({ is: "object", fields: FILTERS }),
  resume_from_step: optional(orNull(integer(0))),
};

const REGISTER_ENV: Fields = {
  max_token_length: integer(),
  desired_name: orNull(words(256)),
  weight: { is: "number" },
  group_size: integer(1, 65_536),
  min_batch_allocation: optional(orNull(number(0, 1))),
  key: optional(orNull(words(128))),
  lease_sequences: optional(integer(1, 65_536)),
  lease_seconds: optional(integer(1, 3_600)),
  steps_per_eval: optional(integer(0)),
  evaluation_handling: optional({ is: "one of", values: ["stop", "limit", "none"] }),
  evaluation_limit: optional(number(0, 1)),
};

const ENV_ID: Fields = { env_id: integer(0) };

const LEASES: Fields = {
  ...ENV_ID,
  key: optional(orNull(words(128))),
  count: optional(integer(1, 100)),
  wait: optional(number(0, 60)),
};

const FAILURE: Fields = { reason: REASON, message: optional(MESSAGE), endpoint_fault: optional({ is: "boolean" }) };
const RENEW: Fields = { failure: optional(orNull({ is: "object", fields: FAILURE })) };

const CLOSE: Fields = {
  outcome: { is: "one of", values: ["skipped", "evaluated", "failed"] },
  reason: optional(orNull(REASON)),
  message: optional(MESSAGE),
  endpoint_fault: optional({ is: "boolean" }),
  metrics: optional({ is: "numbers by name" }),
};

const ENDPOINT: Fields = {
  url: { is: "text", longest: 2_048, pattern: PLAIN_URL, otherwise: "open" },
  model: words(256),
  backend: optional({ is: "one of", values: ["vllm", "sglang", "openai"] }),
  secret: optional(orNull({ is: "text", longest: 120, pattern: /^INFERENCE_[A-Z0-9_]{0,110}$/ })),
  max_training_requests: optional(integer(1, 100_000)),
  max_evaluation_requests: optional(integer(1, 100_000)),
};
const POLICY: Fields = {
  version: optional(integer(0)),
  endpoints: optional({ is: "list", of: { is: "object", fields: ENDPOINT }, longest: 1_000 }),
};

const RELEASE: Fields = { trainer: optional(orNull(NAME)) };
const ACK: Fields = { ...RELEASE, step: optional(orNull(integer(0))), metrics: optional({ is: "numbers by name" }) };
const FORK: Fields = { from: NAME, step: optional(orNull(integer(0))) };

const name = fc.oneof(fc.string({ maxLength: 12 }), fc.constantFrom("math", "é𝄞", "", "a\u0000b"));
const id = fc.nat(3);

/** Each key is there or not, but for those that must be. */
const record = <T>(fields: { [K in keyof T]: fc.Arbitrary<T[K]> }, required: (keyof T & string)[]) =>
  fc.record(fields, { requiredKeys: required }).map((value) => treeOf(value));

const registration = record(
  {
    wandb_group: fc.option(name),
    wandb_project: fc.option(name),
    batch_size: fc.integer({ min: 1, max: 64 }),
    max_token_len: fc.integer(),
    checkpoint_dir: name,
    save_checkpoint_interval: fc.integer({ min: -1, max: 10 }),
    starting_step: fc.nat(5),
    num_steps: fc.nat(1_000),
    mixing: fc.constantFrom("fifo", "weighted"),
    payload_shards: fc.integer({ min: 1, max: 64 }),
    max_batches_offpolicy: fc.integer({ min: 1, max: 1_000 }),
    max_staleness: fc.option(fc.nat(9)),
    keep_steps: fc.nat(9),
    max_queue_sequences: fc.integer({ min: 1, max: 1_000 }),
    deduplicate: fc.boolean(),
    filters: fc.constantFrom({}, { equal_scores: true }, { min_mean_score: -1, max_sequence_length: 9 }),
    resume_from_step: fc.option(fc.nat(9)),
  },
  [
    ...(["wandb_group", "wandb_project", "batch_size", "max_token_len", "checkpoint_dir"] as const),
    ...(["save_checkpoint_interval", "starting_step", "num_steps"] as const),
  ],
);

const environment = record(
  {
    max_token_length: fc.integer(),
    desired_name: fc.option(name),
    weight: fc.oneof(fc.constantFrom(0, 1, -1, 1e300), fc.double({ noNaN: true, noDefaultInfinity: true })),
    group_size: fc.integer({ min: 1, max: 16 }),
    min_batch_allocation: fc.option(fc.constantFrom(0, 0.1, 1)),
    key: fc.option(fc.constantFrom("a", "b", "")),
    lease_sequences: fc.integer({ min: 1, max: 16 }),
    lease_seconds: fc.integer({ min: 1_000, max: 3_600 }),
    steps_per_eval: fc.nat(3),
    evaluation_handling: fc.constantFrom("stop", "limit", "none"),
    evaluation_limit: fc.constantFrom(0, 0.5, 1),
  },
  ["max_token_length", "desired_name", "weight", "group_size"],
);

const endpoint = fc.record(
  {
    url: fc.constantFrom("http://a.example:8000", "https://b.example/v1"),
    model: name,
    backend: fc.constantFrom("vllm", "sglang", "openai"),
    secret: fc.option(fc.constantFrom("INFERENCE_KEY", "INFERENCE_")),
    max_training_requests: fc.integer({ min: 1, max: 100_000 }),
  },
  { requiredKeys: ["url", "model"] },
);

const metrics = fc.dictionary(fc.constantFrom("loss", "kl", "é"), fc.double({ noNaN: true, noDefaultInfinity: true }));
const trainer = fc.constantFrom(null, "a", "b.1");
const failure = fc.record(
  { reason: fc.constantFrom("timeout", "no_answer"), message: name, endpoint_fault: fc.boolean() },
  { requiredKeys: ["reason"] },
);

/** A group with the fields a trainer reads, its keys in any order. */
export const group: fc.Arbitrary<Tree> = fc.array(fc.nat(4), { minLength: 1, maxLength: 5 }).chain((lengths) => {
  const rows = <T>(item: fc.Arbitrary<T>) =>
    fc.tuple(...lengths.map((n) => fc.array(item, { minLength: n, maxLength: n })));
  const each = <T>(item: fc.Arbitrary<T>) => fc.tuple(...lengths.map(() => item));
  const real = fc.oneof(fc.integer({ min: -9, max: 9 }), fc.double({ noNaN: true, noDefaultInfinity: true }));
  const message = fc.record({ role: fc.constantFrom("user", "assistant"), content: name });
  return record(
    {
      tokens: rows(fc.nat(200_000)),
      masks: rows(fc.constantFrom(-100, 1, 7)),
      scores: each(real),
      advantages: fc.option(rows(real)),
      ref_logprobs: fc.option(fc.oneof(rows(real), fc.constant([]))),
      inference_logprobs: fc.option(rows(real)),
      messages: fc.option(each(fc.array(message, { maxLength: 2 }))),
      overrides: fc.option(each(fc.constantFrom({}, { a: 1 }))),
      generation_params: fc.option(fc.constant({ temperature: 1 })),
      group_overrides: fc.option(fc.constant({})),
      images: fc.jsonValue({ maxDepth: 2 }),
      env_id: fc.option(fc.nat(3)),
      distill_token_ids: fc.option(each(fc.array(fc.array(fc.nat(9), { maxLength: 2 }), { maxLength: 2 }))),
      distill_logprobs: fc.option(each(fc.array(fc.array(real, { maxLength: 2 }), { maxLength: 2 }))),
      policy_version: fc.oneof(fc.nat(9), fc.constantFrom(null, "v1", 1.5)),
    },
    ["tokens", "masks", "scores"],
  );
});

const groups: fc.Arbitrary<Tree> = fc.array(group, { maxLength: 3 }).map((list) => ({ list }));

const queueAndLease: readonly Section[] = ["queue", "leases", "load", "outcomes", "environments"];

export const ROUTES: readonly FuzzedRoute[] = [
  {
    ...{ method: "POST", path: "/scored_data", body: group, judged: { groups: "group" }, changes: queueAndLease },
    answers: [200, 409, 422],
  },
  {
    ...{ method: "POST", path: "/scored_data_list", body: groups, judged: { groups: "list" }, changes: queueAndLease },
    answers: [200, 409, 422],
  },
  {
    ...{ method: "POST", path: "/register", body: registration, judged: { fields: REGISTER, isStock: true } },
    ...{ changes: ["state", "step", "trainer", "policy"], answers: [200, 409, 422] },
  },
  {
    ...{ method: "POST", path: "/register-env", body: environment, judged: { fields: REGISTER_ENV, isStock: true } },
    // Groups may have come with its id before it did.
    ...{ changes: ["environments", "queue", "outcomes"], answers: [200] },
  },
  {
    ...{
      method: "POST",
      path: "/disconnect-env",
      body: record({ env_id: id }, ["env_id"]),
      judged: { fields: ENV_ID, isStock: true },
    },
    ...{ changes: ["environments", "queue"], answers: [200] },
  },
  {
    ...{ method: "GET", path: "/status-env", body: record({ env_id: id }, ["env_id"]) },
    // Without a body, several environments may be meant.
    ...{ judged: { fields: ENV_ID, optional: true, isStock: true }, changes: [], answers: [200, 404, 422] },
  },
  {
    ...{ method: "POST", path: "/leases", judged: { fields: LEASES } },
    body: record(
      {
        env_id: id,
        key: fc.constantFrom(null, null, "a", "b"),
        count: fc.integer({ min: 1, max: 3 }),
        wait: fc.constantFrom(0, 0.001),
      },
      ["env_id"],
    ),
    ...{ changes: ["leases", "load", "environments"], answers: [200, 404] },
  },
  {
    ...{ method: "POST", path: "/leases/{id}/renew", body: record({ failure: fc.option(failure) }, []) },
    ...{ judged: { fields: RENEW }, changes: ["leases", "load", "outcomes"], answers: [200, 404, 503] },
    // Its endpoint is gone, and no other has room.
    alsoTaken: 503,
  },
  {
    ...{ method: "POST", path: "/leases/{id}/close", judged: { fields: CLOSE } },
    body: record(
      {
        outcome: fc.constantFrom("skipped", "evaluated", "failed"),
        reason: fc.constantFrom("too_easy", "timeout"),
        message: name,
        endpoint_fault: fc.boolean(),
        metrics,
      },
      ["outcome"],
    ),
    // One that is not evaluated needs a reason.
    ...{ changes: ["leases", "load", "outcomes", "environments"], answers: [200, 404, 422] },
  },
  {
    ...{
      method: "POST",
      path: "/leases/{id}/backlog",
      body: record({ items: fc.array(fc.jsonValue(), { maxLength: 3 }) }, ["items"]),
    },
    bodyBytes: 100 * 16_384 * 6 + 65_536,
    judged: { fields: { items: { is: "list", of: { is: "anything" }, longest: 100 } } },
    ...{ changes: [], answers: [200, 404, 409, 422] },
  },
  {
    ...{ method: "POST", path: "/policy", judged: { fields: POLICY } },
    body: record({ version: fc.nat(9), endpoints: fc.array(endpoint, { maxLength: 2 }) }, []),
    // Two may be one and the same.
    ...{ changes: ["policy", "load"], answers: [200, 422] },
  },
  {
    ...{
      method: "POST",
      path: "/batches/{id}/ack",
      body: record({ step: fc.option(fc.nat(9)), metrics, trainer }, []),
    },
    ...{ judged: { fields: ACK, optional: true }, changes: ["trainer"], answers: [200, 404, 409] },
  },
  {
    ...{
      method: "PUT",
      path: "/environments/{id}/state",
      body: record({ version: fc.nat(2), state: fc.jsonValue() }, ["version", "state"]),
    },
    bodyBytes: 49_152 * 6 + 65_536,
    judged: { fields: { version: integer(0), state: { is: "anything", optional: true } } },
    ...{ changes: ["state"], answers: [200, 404, 409, 422] },
  },
  {
    ...{ method: "POST", path: "/batches/{id}/release", body: record({ trainer }, []) },
    ...{ judged: { fields: RELEASE, optional: true }, changes: ["trainer"], answers: [200, 404, 409] },
  },
  {
    // The run has a trainer: it can't become a fork.
    ...{
      method: "POST",
      path: "/fork",
      body: record({ from: fc.constantFrom("a", "b"), step: fc.option(fc.nat(9)) }, ["from"]),
    },
    ...{ judged: { fields: FORK }, changes: [], answers: [409] },
  },
];
