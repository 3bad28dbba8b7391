import { z } from "zod";
import { confidential } from "./confidential.ts";
import { finiteNumber, nullableText, onlyFields, text, wholeNumber } from "./fields.ts";

/** Messages about rollout leases, inference endpoints, evaluations and environments' states. See docs/PROTOCOL.md. */

/** Rollout leases one request may ask for. */
export const MAX_LEASES = 100;

/** Longest a request for rollout leases may wait, in seconds. */
export const MAX_LEASE_WAIT_SECONDS = 60;

/** Longest text of a failure's message, in characters; what is longer is cut. */
export const MAX_FAILURE_MESSAGE = 1_000;

/** Metrics of one evaluation. */
export const MAX_METRICS = 100;

/** Longest name of a metric, in characters. */
export const MAX_METRIC_NAME = 256;

/** Largest backlog item and largest state of an environment, in characters of JSON. */
export const MAX_BACKLOG_ITEM = 16_384;
export const MAX_STATE = 49_152;

/** Follow-up items of a rollout lease at most. */
export const MAX_BACKLOG_ITEMS = 100;

/** A character takes up to 3 bytes in UTF-8 and 6 as an escape (`\u00e9`), which is how Python writes all but ASCII. */
const BYTES_A_CHARACTER = 6;
const AROUND_IT_BYTES = 64 * 1024;

/** Largest bodies of the routes that take them, in bytes. */
export const BACKLOG_BODY_BYTES = MAX_BACKLOG_ITEMS * MAX_BACKLOG_ITEM * BYTES_A_CHARACTER + AROUND_IT_BYTES;
export const STATE_BODY_BYTES = MAX_STATE * BYTES_A_CHARACTER + AROUND_IT_BYTES;

const REASON = /^[a-z][a-z0-9_]{0,63}$/;

/** Why a rollout came to nothing: a word that is counted, so it must not hold numbers of the case. */
export const reason = z
  .string()
  .regex(REASON, "a reason is one word in snake_case: a letter, then up to 63 letters, digits or underscores");

/** Names the rollout lease that scored groups were generated under. */
export const LEASE_HEADER = "lachesis-lease";
export const leaseHeader = z.object({
  [LEASE_HEADER]: wholeNumber("the rollout lease the groups were generated under; they end it", { min: 1 }),
});

/** Tells a submission that comes again from a new one. */
export const IDEMPOTENCY_HEADER = "idempotency-key";
export const idempotencyHeader = z.object({
  [IDEMPOTENCY_HEADER]: z
    .string()
    .regex(/^[\x21-\x7e]{1,128}$/, "an Idempotency-Key has 1 to 128 printable ASCII characters, without spaces")
    .describe("the same request again, within a day, changes nothing and gets the same answer"),
});

export const submissionHeaders = leaseHeader.extend(idempotencyHeader.shape);

export const leaseId = z.object({ lease_id: wholeNumber("a rollout lease", { min: 1 }) });
export const environmentPath = z.object({ env_id: wholeNumber("an environment's id", { min: 0 }) });

/** An inference server, as a lease names it. */
export const endpoint = z.object({
  id: z.int(),
  url: z.string(),
  model: z.string(),
  backend: z.enum(["vllm", "sglang", "openai"]),
  /** The name of the secret in the environment's Worker; the value is never sent. */
  secret: z.string().nullable(),
  max_training_requests: z.int(),
  max_evaluation_requests: z.int(),
});
export type Endpoint = z.infer<typeof endpoint>;

/**
 * What names of inference endpoints' secrets begin with. A trainer names them and says where they are sent, so by any other
 * name it could have all secrets of the environments' Workers sent to itself, their tokens too.
 */
export const INFERENCE_SECRET_PREFIX = "INFERENCE_";
export const INFERENCE_SECRET = /^INFERENCE_[A-Z0-9_]{0,110}$/;

/** Whoever may read the run reads an endpoint's url. */
const endpointUrl = z
  .url({ protocol: /^https?$/, error: "an endpoint's url is an http or https address" })
  .max(2_048)
  .superRefine((url, context) => {
    if (!URL.canParse(url)) return;
    const { username, password } = new URL(url);
    const found = [
      ...(username === "" && password === "" ? [] : ["user and password"]),
      ...(/[?#]/.test(url) ? ["query and fragment"] : []),
    ];
    if (found.length === 0) return;
    const message = `an endpoint's url holds no ${found.join(", ")}, as whoever may read the run reads it: name a secret that holds the API key`;
    context.addIssue({ code: "custom", message });
  });

export const newEndpoint = onlyFields({
  url: confidential(endpointUrl),
  model: text("the model's name, as the server knows it", 256),
  backend: z.enum(["vllm", "sglang", "openai"]).default("vllm").describe("whose wire it speaks"),
  secret: confidential(
    z
      .string()
      .regex(
        INFERENCE_SECRET,
        `give the NAME of a secret of the environments' Workers, never its value: ${INFERENCE_SECRET_PREFIX} and up to 110 capital letters, digits and underscores. No other secret of theirs can be named here`,
      )
      .nullable()
      .default(null)
      .describe(`name of the secret that holds its API key; it begins with ${INFERENCE_SECRET_PREFIX}`),
  ),
  max_training_requests: wholeNumber("completions for training at once", { min: 1, max: 100_000 }).default(512),
  max_evaluation_requests: wholeNumber("completions for evaluation at once", { min: 1, max: 100_000 }).default(64),
});

const endpointList = z
  .array(newEndpoint)
  .max(1_000)
  .superRefine((endpoints, context) => {
    const places = new Map<string, number>();
    for (const [index, { url, model }] of endpoints.entries()) {
      const server = `${URL.canParse(url) ? new URL(url).href.replace(/\/+$/, "") : url} ${model}`;
      const first = places.get(server);
      places.set(server, first ?? index);
      if (first === undefined) continue;
      // The url may hold a key, and then it has been refused for that.
      const message = `this url and model are listed already, at ${first}: list an endpoint once, with the limits it has`;
      context.addIssue({ code: "custom", path: [index], message });
    }
  });

export const policyBody = onlyFields({
  version: wholeNumber("the policy version that is served from now on: the step of the last batch it learned from", {
    min: 0,
  }).optional(),
  endpoints: endpointList.optional().describe("all inference endpoints, each once; replaces the ones before"),
});

export const policyAnswer = z.object({
  version: z.int().meta({ description: "what new rollout leases carry" }),
  published: z.boolean().meta({ description: "whether a trainer said so; else it is the run's step" }),
  endpoints: z.array(
    endpoint.extend({
      healthy: z.boolean(),
      in_flight: z.int().meta({ description: "completions, of both purposes, that open rollout leases stand for" }),
      failures: z.int().meta({ description: "failures in a row" }),
      retry_in_seconds: z.number(),
    }),
  ),
});

/** Permission to generate one group, or to evaluate once. */
export const rolloutLease = z.object({
  lease_id: z.int(),
  env_id: z.int(),
  kind: z.enum(["train", "evaluate"]),
  /** The n-th item the environment has drawn, from 0; null for a follow-up item or an evaluation. */
  item: z.int().nullable(),
  /** A follow-up item, as the environment handed it in. */
  backlog: z.unknown(),
  /** 32 bits; the same for every attempt at an item. */
  seed: z.int(),
  /** 1 for the first lease of an item. */
  attempt: z.int(),
  group_size: z.int(),
  policy_version: z.int(),
  step: z.int(),
  endpoint,
  /** Unix milliseconds, by the server's clock. */
  expires_at: z.int(),
  lease_seconds: z.int(),
});
export type RolloutLease = z.infer<typeof rolloutLease>;

export const leasesBody = onlyFields({
  env_id: wholeNumber("the id register-env answered with", { min: 0 }),
  key: nullableText(
    "what it registered with: 404 if env_id is another environment's since the run was reset",
    128,
  ).default(null),
  count: wholeNumber("leases wanted at most", { min: 1, max: MAX_LEASES }).default(1),
  wait: finiteNumber("seconds to wait for the first", { min: 0, max: MAX_LEASE_WAIT_SECONDS }).default(0),
});

export const leasesAnswer = z.object({
  /** "finished" when there is nothing left to generate or evaluate. */
  status: z.enum(["leased", "none", "finished"]),
  /** Why there are none; docs/PROTOCOL.md lists the reasons. */
  reason: z.string().nullable(),
  message: z.string(),
  step: z.int(),
  leases: z.array(rolloutLease),
});
export type LeasesAnswer = z.infer<typeof leasesAnswer>;

/** How a lease ended. */
export const outcome = z.enum(["submitted", "skipped", "evaluated", "failed", "expired", "cancelled"]);
export type Outcome = z.infer<typeof outcome>;

export const renewBody = onlyFields({
  failure: onlyFields({
    reason,
    message: text("what happened", 65_536).default(""),
    endpoint_fault: z.boolean().default(false).describe("whether the inference endpoint is to blame"),
  })
    .nullable()
    .default(null)
    .describe("why another attempt is needed; counted, and another endpoint is chosen if this one is to blame"),
});

export const renewAnswer = z.discriminatedUnion("status", [
  z.object({ status: z.literal("leased"), lease: rolloutLease }),
  z.object({ status: z.literal("closed"), outcome, reason: z.string().nullable() }),
]);
export type RenewAnswer = z.infer<typeof renewAnswer>;

export const closeBody = onlyFields({
  outcome: z.enum(["skipped", "evaluated", "failed"]),
  reason: reason.nullable().default(null).describe("required unless evaluated"),
  message: text("what happened", 65_536).default(""),
  endpoint_fault: z.boolean().default(false),
  metrics: z
    .record(z.string().min(1).max(MAX_METRIC_NAME), z.number())
    .refine((metrics) => Object.keys(metrics).length <= MAX_METRICS, {
      error: `an evaluation has at most ${MAX_METRICS} metrics: leave out those that nobody looks at`,
    })
    .default({})
    .describe("of an evaluation"),
});

export const closeAnswer = z.object({
  status: z.literal("closed"),
  outcome,
  reason: z.string().nullable(),
  repeated: z.boolean().meta({ description: "the lease was closed before: nothing changed" }),
});
export type CloseAnswer = z.infer<typeof closeAnswer>;

export const backlogBody = onlyFields({
  items: z
    .array(z.unknown())
    .max(MAX_BACKLOG_ITEMS)
    .describe("follow-up items; drawn before new ones, once the lease ends with a group or skipped"),
});

export const backlogAnswer = z.object({ status: z.literal("noted"), items: z.int() });

export const stateBody = onlyFields({
  version: wholeNumber("the version that was read; 0 if there was no state", { min: 0 }),
  state: z.unknown(),
});

export const stateAnswer = z.object({ version: z.int(), state: z.unknown() });
export type EnvironmentState = z.infer<typeof stateAnswer>;

export const leaseListQuery = z.object({
  env_id: wholeNumber("of one environment", { min: 0 }).optional(),
  after: wholeNumber("leases with a higher id", { min: 0 }).default(0),
  limit: wholeNumber("leases at most", { min: 1, max: 1_000 }).default(100),
});

export const leaseList = z.object({
  leases: z.array(
    z.object({
      lease_id: z.int(),
      env_id: z.int(),
      kind: z.enum(["train", "evaluate"]),
      item: z.int().nullable(),
      attempt: z.int(),
      policy_version: z.int(),
      endpoint_id: z.int(),
      outcome: z.union([outcome, z.literal("open")]),
      reason: z.string().nullable(),
      groups: z.int().meta({ description: "groups it brought" }),
      /** Queued and leased sequences right after it was given out, itself included. */
      admitted_sequences: z.int(),
    }),
  ),
});
export type LeaseList = z.infer<typeof leaseList>;

export const evaluationListQuery = z.object({
  before: wholeNumber("evaluations with a lower evaluation_id", { min: 1 }).optional(),
  limit: wholeNumber("evaluations at most", { min: 1, max: 1_000 }).default(100),
});

export const evaluationsAnswer = z.object({
  evaluations: z.array(
    z.object({
      evaluation_id: z.int(),
      env_id: z.int(),
      name: z.string(),
      step: z.int(),
      metrics: z.record(z.string(), z.number()),
    }),
  ),
});

/** What an environment says beside the stock fields when it registers. */
export const leasingFields = {
  key: nullableText("registers the same environment again instead of another one", 128).optional(),
  lease_sequences: wholeNumber("sequences one rollout lease may bring at most; default: group_size", {
    min: 1,
    max: 65_536,
  }).optional(),
  lease_seconds: wholeNumber("how long a rollout lease lasts", { min: 1, max: 3_600 }).optional(),
  steps_per_eval: wholeNumber("steps between evaluations; 0 for none", { min: 0 }).optional(),
  evaluation_handling: z
    .enum(["stop", "limit", "none"])
    .optional()
    .describe("what an evaluation does to the environment's training: stop it, limit it, or nothing"),
  evaluation_limit: finiteNumber("with limit: the share of the admission bound that is left to training", {
    min: 0,
    max: 1,
  }).optional(),
} as const;

export const environmentListQuery = z.object({
  after: wholeNumber("environments with a higher env_id", { min: 0 }).optional(),
  limit: wholeNumber("environments at most", { min: 1, max: 1_000 }).default(1_000),
});

export const environmentsAnswer = z.object({
  environments: z.array(
    z.object({
      env_id: z.int(),
      name: z.string(),
      connected: z.boolean(),
      alive: z.boolean(),
      last_heard_seconds: z.number(),
      weight: z.number(),
      floor: z.number().nullable(),
      group_size: z.int(),
      queued_sequences: z.int(),
      leased_sequences: z.int(),
      next_item: z.int(),
      backlog_items: z.int(),
      evaluation: z
        .enum(["due", "under_way"])
        .nullable()
        .meta({ description: "whether it evaluates, or has to: inference should go on until it has ended" }),
      /** Ends of leases, by outcome and reason: {"failed": {"timeout": 3}}. */
      outcomes: z.record(z.string(), z.record(z.string(), z.int())),
      handed_out_groups: z.int(),
      handed_out_sequences: z.int(),
      share: z.number().meta({ description: "of all sequences handed out" }),
      staleness: z.record(z.string(), z.int()).meta({ description: "groups by staleness at hand-out, in steps" }),
    }),
  ),
});
export type EnvironmentsAnswer = z.infer<typeof environmentsAnswer>;
