import { expect, test } from "vitest";
import type { z } from "zod";
import { ackBody, batchId, trainerName } from "./batches.ts";
import { onlyFields } from "./fields.ts";
import { batchQuery, registerBody } from "./messages.ts";
import { leasesBody, policyBody } from "./rollouts.ts";
import { faults } from "./testing.ts";

const REGISTRATION = {
  wandb_group: null,
  wandb_project: null,
  batch_size: 4,
  max_token_len: 64,
  checkpoint_dir: "/c",
  save_checkpoint_interval: 1,
  starting_step: 0,
  num_steps: 9,
};
const registering = (field: object) => ({ ...REGISTRATION, ...field });
const FOREVER = JSON.parse("1e999");

test.each<[what: string, value: unknown, schema: z.ZodType, loc: readonly (string | number)[], input: unknown]>([
  ["a number out of bounds", registering({ batch_size: 0 }), registerBody, ["batch_size"], 0],
  ["a text that is no number", registering({ batch_size: "four" }), registerBody, ["batch_size"], "four"],
  ["a fraction", registering({ num_steps: 1.5 }), registerBody, ["num_steps"], 1.5],
  ["null", registering({ batch_size: null }), registerBody, ["batch_size"], null],
  ["a number JSON has no word for", registering({ batch_size: FOREVER }), registerBody, ["batch_size"], "Infinity"],
  ["a word that isn't one of them", registering({ mixing: "foo" }), registerBody, ["mixing"], "foo"],
  ["another type", registering({ deduplicate: "yes" }), registerBody, ["deduplicate"], "yes"],
  ["a long text", registering({ wandb_group: "x".repeat(300) }), registerBody, ["wandb_group"], "x".repeat(64)],
  [
    "a field within a field",
    registering({ filters: { equal_scores: 1 } }),
    registerBody,
    ["filters", "equal_scores"],
    1,
  ],
  ["no object", registering({ filters: true }), registerBody, ["filters"], true],
  ["a query", { wait: "301" }, batchQuery, ["wait"], "301"],
  ["a pattern", { trainer: "a b" }, onlyFields({ trainer: trainerName }), ["trainer"], "a b"],
  ["a path", { batch_id: "-1" }, batchId, ["batch_id"], "-1"],
  ["a field nobody knows", { env_id: 0, cuont: 3 }, leasesBody, ["cuont"], 3],
  ["one with a long text", { trainr: "y".repeat(99) }, ackBody, ["trainr"], "y".repeat(64)],
  ["a policy's version", { version: -1 }, policyBody, ["version"], -1],
])("a fault names the value: %s", (_what, value, schema, loc, input) => {
  expect(faults(value, schema)).toMatchObject([{ loc: ["body", ...loc], input }]);
});

test.each<[what: string, value: unknown, schema: z.ZodType]>([
  ["a list", registering({ batch_size: [1, 2] }), registerBody],
  ["an object", registering({ batch_size: { of: 2 } }), registerBody],
  ["a field that is missing", registering({ batch_size: undefined }), registerBody],
  ["a field nobody knows, with a list", { env_id: 0, cuont: [3] }, leasesBody],
])("what is not plain is not repeated: %s", (_what, value, schema) => {
  expect(faults(value, schema)[0]).not.toHaveProperty("input");
});
