import { z } from "zod";

const number = z.number();
const environment = z.looseObject({
  env_id: number,
  queued_sequences: number,
  leased_sequences: number,
  outcomes: z.unknown(),
});
const endpoint = z.looseObject({ id: number, in_flight: number, failures: number });

const status = z.looseObject({
  current_step: number,
  queue_size: number,
  queued_bytes: number,
  received_groups: number,
  explain: z.looseObject({
    batch_size: number.nullable(),
    queued_sequences: number,
    buffered: z.array(z.looseObject({ sequences: number })),
  }),
  trainer: z.unknown(),
  open_batches: number,
  leased_batches: number,
  admission: z.looseObject({ limit_sequences: number.nullable(), leased_sequences: number }),
});

/** Answers a GET of a path below the run with parsed JSON. */
export type Read = (path: string) => Promise<unknown>;

/** How a run stands, in parts that change for different reasons. What changes with time alone is left out. */
export async function snapshot(read: Read) {
  const paths = ["/status?explain", "/environments", "/policy", "/leases?limit=1000"];
  const states = ["/environments/0/state", "/environments/1/state"];
  const [explained, listed, served, leases, ...state] = await Promise.all([...paths, ...states].map(read));
  const run = status.parse(explained);
  const { environments } = z.object({ environments: z.array(environment) }).parse(listed);
  const policy = z.looseObject({ endpoints: z.array(endpoint) }).parse(served);
  const buffered = run.explain.buffered.reduce((sum, { sequences }) => sum + sequences, 0);
  return {
    step: run.current_step,
    settings: [run.explain.batch_size, run.admission.limit_sequences],
    trainer: [run.trainer, run.open_batches, run.leased_batches],
    received: run.received_groups,
    sequences: run.explain.queued_sequences + buffered,
    queue: [
      run.queue_size,
      run.queued_bytes,
      buffered,
      counts(environments.map(({ queued_sequences }) => queued_sequences)),
    ],
    leases: [run.admission.leased_sequences, leases],
    environments: environments.map(
      ({ alive, last_heard_seconds, queued_sequences, leased_sequences, outcomes, ...rest }) => rest,
    ),
    outcomes: environments.map(({ outcomes }) => JSON.stringify(outcomes)).filter((counted) => counted !== "{}"),
    policy: [
      policy["version"],
      policy.endpoints.map(({ healthy, in_flight, failures, retry_in_seconds, ...rest }) => rest),
    ],
    load: policy.endpoints.map(({ in_flight, failures }) => [in_flight, failures]),
    state,
  };
}

/** Without the zeros at the end, which an environment that has just come adds. */
function counts(values: readonly number[]): number[] {
  return values.slice(0, values.findLastIndex((value) => value !== 0) + 1);
}

export type Snapshot = Awaited<ReturnType<typeof snapshot>>;
export type Section = keyof Snapshot;
