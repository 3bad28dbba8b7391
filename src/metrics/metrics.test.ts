import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { RunMetrics } from "../../durable-objects/run/metrics.ts";
import { Telemetry } from "../../durable-objects/run/telemetry.ts";
import { exposition, type Family } from "./exposition.ts";
import { families } from "./families.ts";
import { parseExposition } from "./testing.ts";

const gauge = (labels: Record<string, string>, value: number): Family => ({
  name: "g",
  help: "A gauge.",
  type: "gauge",
  samples: [{ labels, value }],
});

describe("the text format", () => {
  test("is what the specification shows", () => {
    const histogram: Family = {
      name: "h",
      help: "Two\nlines \\ here.",
      type: "histogram",
      samples: [{ labels: { run: "a" }, counts: { bounds: [0.5, 2], counts: [1, 0, 3], sum: 40.25 } }],
    };
    expect(exposition([gauge({ run: "a", x: 'q"\\\n' }, 3), histogram])).toBe(
      [
        "# HELP g A gauge.",
        "# TYPE g gauge",
        'g{run="a",x="q\\"\\\\\\n"} 3',
        "# HELP h Two\\nlines \\\\ here.",
        "# TYPE h histogram",
        'h_bucket{run="a",le="0.5"} 1',
        'h_bucket{run="a",le="2"} 1',
        'h_bucket{run="a",le="+Inf"} 4',
        'h_sum{run="a"} 40.25',
        'h_count{run="a"} 4',
        "",
      ].join("\n"),
    );
  });

  test("gives back any label and any number", () => {
    const label = fc.string({ unit: fc.oneof(fc.constantFrom("\\", '"', "\n", "{", "}", ",", "="), fc.string()) });
    fc.assert(
      fc.property(label, fc.double(), (text, value) => {
        const { samples } = parseExposition(exposition([gauge({ run: "a", text }, value)]));
        // A scraper sees -0 as 0.
        expect(samples).toEqual([{ name: "g", labels: { run: "a", text }, value: value === 0 ? 0 : value }]);
      }),
    );
  });

  test("has lines for a family without samples, and nothing for none", () => {
    expect(exposition([{ ...gauge({}, 0), samples: [] } as Family])).toBe("# HELP g A gauge.\n# TYPE g gauge\n");
    expect(exposition([])).toBe("");
  });
});

/** A run in the middle of things; its environments and endpoints have names a scraper would stumble over. */
function someMetrics(): RunMetrics {
  const telemetry = new Telemetry();
  const now = 1_800_000_000_000;
  for (let age = 1; age <= 20; age++) telemetry.groupQueued({ age, sequences: age, tokens: age ** 4 }, now + age * 500);
  const groups = Array.from({ length: 20 }, (_, index) => ({ age: index + 1, policyVersion: index }));
  telemetry.batchHandedOut({ step: 21, groups, waitedMs: 1_500, now: now + 60_000 });
  telemetry.rolloutLeased(1, now);
  telemetry.rolloutSubmitted(1, now + 9_000);
  telemetry.acknowledged();
  telemetry.losses.refused("queue_full", now);
  return {
    overview: {
      step: 21,
      queueSize: 5,
      explain: {
        ...{ reason: "too_few_sequences", message: "", batch_size: 64, queued_groups: 5, queued_sequences: 40 },
        ...{ missing_sequences: 24, floors: [], sizes: [], buffered: [] },
      },
      queuedBytes: 12_345,
      disk: { bytes: 4_096, limit: 9_000_000 },
      receivedGroups: 25,
      environments: { registered: 3, connected: 2, alive: 1 },
      openBatches: 2,
      leasedBatches: 1,
      trainer: null,
      policyVersion: 20,
      admission: {
        ...{
          limit_sequences: null,
          held_sequences: 47,
          leased_sequences: 4,
          open_leases: 1,
          waiting_environments: 0,
          blocked: null,
        },
      },
      waitingTrainers: 1,
      watchdog: null,
    },
    bufferedSequences: 3,
    handedOutBatches: 30,
    isStalled: true,
    outcomes: {
      series: [
        { environment: 'a "quoted" name\\_0', outcome: "failed", reason: "timeout", count: 4 },
        { environment: "(others)", outcome: "failed", reason: "", count: 2 },
      ],
      cut: 2,
    },
    endpoints: [
      { id: 1, url: "https://me:hush@one.example/v1", model: "m", backend: "vllm", healthy: true, inFlight: 16 },
      { id: 3, url: "https://one.example/v1", model: "n", backend: "sglang", healthy: false, inFlight: 0 },
    ],
    telemetry: telemetry.counts(),
  };
}

describe("a run's metrics", () => {
  const text = exposition(families("math", someMetrics()));
  const { types, helps, samples } = parseExposition(text);
  const value = (name: string, labels: Record<string, string> = {}) => {
    const all = samples.filter((sample) => sample.name === name);
    return all.find((sample) => Object.entries(labels).every(([label, is]) => sample.labels[label] === is))?.value;
  };

  test.each<[name: string, labels: Record<string, string>, expected: number | undefined]>([
    ["lachesis_step", {}, 21],
    ["lachesis_queue_groups", {}, 5],
    ["lachesis_queue_sequences", {}, 40],
    ["lachesis_queue_bytes", {}, 12_345],
    ["lachesis_disk_bytes", {}, 4_096],
    ["lachesis_disk_limit_bytes", {}, 9_000_000],
    ["lachesis_refused_requests_total", { reason: "queue_full" }, 1],
    ["lachesis_buffered_sequences", {}, 3],
    ["lachesis_open_batches", {}, 2],
    ["lachesis_leased_batches", {}, 1],
    ["lachesis_waiting_trainers", {}, 1],
    ["lachesis_stalled", {}, 1],
    ["lachesis_policy_version", {}, 20],
    ["lachesis_admission_limit_sequences", {}, undefined],
    ["lachesis_admission_held_sequences", {}, 47],
    ["lachesis_open_rollout_leases", {}, 1],
    ["lachesis_environments", { state: "registered" }, 3],
    ["lachesis_environments", { state: "connected" }, 2],
    ["lachesis_environments", { state: "alive" }, 1],
    ["lachesis_received_groups_total", {}, 25],
    ["lachesis_handed_out_batches_total", {}, 30],
    ["lachesis_acknowledged_batches_total", {}, 1],
    ["lachesis_rollout_outcomes_total", { environment: 'a "quoted" name\\_0', reason: "timeout" }, 4],
    ["lachesis_rollout_outcomes_total", { environment: "(others)", reason: "" }, 2],
    ["lachesis_rollout_outcome_series_cut", {}, 2],
    ["lachesis_endpoint_in_flight", { endpoint: "1" }, 16],
    ["lachesis_endpoint_healthy", { endpoint: "1" }, 1],
    ["lachesis_endpoint_healthy", { endpoint: "3" }, 0],
    ["lachesis_endpoint_info", { endpoint: "1", url: "https://one.example/v1", model: "m" }, 1],
    ["lachesis_batch_staleness_steps_count", {}, 20],
    ["lachesis_batch_staleness_steps_bucket", { le: "4" }, 4],
    ["lachesis_batch_wait_seconds_sum", {}, 1.5],
    ["lachesis_group_queue_seconds_count", {}, 20],
    ["lachesis_group_sequences_bucket", { le: "8" }, 8],
    ["lachesis_group_tokens_count", {}, 20],
    ["lachesis_rollout_seconds_sum", {}, 9],
  ])("%s %j", (name, labels, expected) => {
    expect(value(name, labels)).toBe(expected);
  });

  test("all carry the run, a help, and a type", () => {
    for (const { labels } of samples) expect(labels["run"]).toBe("math");
    expect([...helps.keys()]).toEqual([...types.keys()]);
    for (const [name, type] of types) expect(name.endsWith("_total")).toBe(type === "counter");
  });

  test("have buckets that rise to +Inf, which is the count", () => {
    for (const [name] of [...types].filter(([, type]) => type === "histogram")) {
      const buckets = samples.filter((sample) => sample.name === `${name}_bucket`);
      const bounds = buckets.map(({ labels }) => Number((labels["le"] ?? "").replace("+Inf", "Infinity")));
      const counts = buckets.map((bucket) => bucket.value);
      expect(bounds, name).toEqual(bounds.toSorted((a, b) => a - b));
      expect(counts, name).toEqual(counts.toSorted((a, b) => a - b));
      expect(bounds.at(-1), name).toBe(Number.POSITIVE_INFINITY);
      expect(counts.at(-1), name).toBe(value(`${name}_count`));
    }
  });

  test("tell no password of an endpoint", () => {
    expect(text).not.toContain("hush");
  });
});
