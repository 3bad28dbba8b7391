import type { HistogramCounts } from "../../durable-objects/run/histogram.ts";
import type { RunMetrics } from "../../durable-objects/run/metrics.ts";
import type { Family, Labels } from "./exposition.ts";

/** A run's metrics under the names that docs/PROTOCOL.md lists, each with the label `run`. */
export function families(run: string, metrics: RunMetrics): Family[] {
  const own = { run };
  const single = (type: "counter" | "gauge") => (name: string, help: string, value: number | null) =>
    several(type)(name, help, value === null ? [] : [[{}, value]]);
  const several =
    (type: "counter" | "gauge") =>
    (name: string, help: string, samples: readonly (readonly [labels: Labels, value: number])[]): Family => ({
      name,
      help,
      type,
      samples: samples.map(([labels, value]) => ({ labels: { ...own, ...labels }, value })),
    });
  const histogram = (name: string, help: string, counts: HistogramCounts): Family => ({
    name,
    help,
    type: "histogram",
    samples: [{ labels: own, counts }],
  });
  return [
    ...gauges(metrics, single("gauge"), several("gauge")),
    ...counters(metrics, single("counter"), several("counter")),
    ...histograms(metrics, histogram),
  ];
}

type Single = (name: string, help: string, value: number | null) => Family;
type Several = (name: string, help: string, samples: readonly (readonly [labels: Labels, value: number])[]) => Family;

function gauges({ overview, ...metrics }: RunMetrics, one: Single, many: Several): Family[] {
  const { explain, admission, environments } = overview;
  const { endpoints } = metrics;
  const of = ({ id }: { id: number }) => ({ endpoint: `${id}` });
  return [
    one("lachesis_step", "Batches handed out, from the trainer's starting_step on.", overview.step),
    one("lachesis_queue_groups", "Groups queued.", overview.queueSize),
    one("lachesis_queue_sequences", "Sequences queued.", explain.queued_sequences),
    one("lachesis_disk_bytes", "Disk that the run's own object uses; payloads lie in others.", overview.disk.bytes),
    one("lachesis_disk_limit_bytes", "Disk that it may use before it refuses groups.", overview.disk.limit),
    one("lachesis_queue_bytes", "Text of queued and buffered groups.", overview.queuedBytes),
    one(
      "lachesis_buffered_sequences",
      "Sequences that wait for their environment's group size to be made up.",
      metrics.bufferedSequences,
    ),
    one("lachesis_open_batches", "Batches handed out and not done.", overview.openBatches),
    one("lachesis_leased_batches", "Open batches that a trainer holds under a lease.", overview.leasedBatches),
    one("lachesis_waiting_trainers", "Requests that wait for a batch.", overview.waitingTrainers),
    one("lachesis_stalled", "1 while trainers have asked for a batch in vain for a minute.", metrics.isStalled ? 1 : 0),
    one("lachesis_policy_version", "What new rollout leases carry.", overview.policyVersion),
    one(
      "lachesis_admission_limit_sequences",
      "Sequences that rollout leases may have queued and under way.",
      admission.limit_sequences,
    ),
    one("lachesis_admission_held_sequences", "Sequences queued, buffered and leased.", admission.held_sequences),
    one("lachesis_open_rollout_leases", "Rollout leases that have not ended.", admission.open_leases),
    many(
      "lachesis_environments",
      "Environments by state; one that is alive is connected too, and all are registered.",
      Object.entries(environments).map(([state, count]) => [{ state }, count]),
    ),
    many(
      "lachesis_endpoint_info",
      "An inference endpoint; always 1.",
      endpoints.map(({ id, url, model, backend }) => [{ ...of({ id }), url: withoutUser(url), model, backend }, 1]),
    ),
    many(
      "lachesis_endpoint_in_flight",
      "Completions that open rollout leases stand for.",
      endpoints.map((endpoint) => [of(endpoint), endpoint.inFlight]),
    ),
    many(
      "lachesis_endpoint_healthy",
      "0 while the endpoint rests after failures.",
      endpoints.map((endpoint) => [of(endpoint), endpoint.healthy ? 1 : 0]),
    ),
    one(
      "lachesis_rollout_outcome_series_cut",
      "Series of lachesis_rollout_outcomes_total that are summed as (others).",
      metrics.outcomes.cut,
    ),
  ];
}

function counters({ overview, ...metrics }: RunMetrics, one: Single, many: Several): Family[] {
  return [
    one("lachesis_received_groups_total", "Groups ever taken, over resets too.", overview.receivedGroups),
    one("lachesis_handed_out_batches_total", "Batches ever handed out, over resets too.", metrics.handedOutBatches),
    one(
      "lachesis_acknowledged_batches_total",
      "Batches acknowledged since the object woke.",
      metrics.telemetry.acknowledgedBatches,
    ),
    many(
      "lachesis_refused_requests_total",
      "Requests with groups refused since the object woke, as the queue or a disk is full.",
      metrics.telemetry.refusals.map(({ reason, count }) => [{ reason }, count]),
    ),
    many(
      "lachesis_rollout_outcomes_total",
      "How rollouts and groups ended since the last reset.",
      metrics.outcomes.series.map(({ environment, outcome, reason, count }) => [
        { environment, outcome, reason },
        count,
      ]),
    ),
  ];
}

function histograms(
  { telemetry }: RunMetrics,
  one: (name: string, help: string, counts: HistogramCounts) => Family,
): Family[] {
  return [
    one(
      "lachesis_batch_staleness_steps",
      "Staleness of groups when they were handed out.",
      telemetry.batchStalenessSteps,
    ),
    one("lachesis_group_queue_seconds", "How long groups were queued.", telemetry.groupQueueSeconds),
    one(
      "lachesis_batch_wait_seconds",
      "How long requests for a batch were held that got one.",
      telemetry.batchWaitSeconds,
    ),
    one("lachesis_group_sequences", "Sequences of groups, as they came.", telemetry.groupSequences),
    one("lachesis_group_tokens", "Tokens of groups, as they came.", telemetry.groupTokens),
    one("lachesis_rollout_seconds", "From a rollout lease to its groups.", telemetry.rolloutSeconds),
  ];
}

/** A url may carry a password, and metrics go to places that must not have it. */
function withoutUser(url: string): string {
  const parsed = URL.parse(url);
  if (parsed === null) return "";
  parsed.username = "";
  parsed.password = "";
  return parsed.href;
}
