import { Client } from "../../src/client/client.ts";
import type { History } from "./checker/history.ts";
import { type Finding, judge } from "./checker/index.ts";
import { submitLeased } from "./clients/leased.ts";
import { train } from "./clients/trainer.ts";
import { submitUnleased } from "./clients/unleased.ts";
import { Wire } from "./clients/wire.ts";
import { startClock } from "./clock.ts";
import { Counts, countHistory } from "./counts.ts";
import { Doors } from "./doors.ts";
import { drain } from "./drain.ts";
import { MUTATIONS, type Mutation } from "./mutations.ts";
import { haunt } from "./nemesis.ts";
import { ChaosProxy } from "./proxy/proxy.ts";
import { pause, Random } from "./random.ts";
import { Recorder } from "./recorder.ts";
import { readRecords } from "./records.ts";
import { rewind } from "./rewind.ts";
import { BATCH_SIZE, MAX_BATCHES_OFFPOLICY, MAX_STALENESS, TRAINERS } from "./scene.ts";
import { ChaosServer } from "./server/server.ts";
import { setUp } from "./setup.ts";

export interface CampaignOptions {
  readonly seed: number;
  /** How long there are faults; draining comes on top. */
  readonly seconds: number;
  /** A broken server, by name; null for a sound one. */
  readonly mutation?: string | null;
  /** What the server logs. */
  readonly onLog?: (line: string) => void;
}

export interface Verdict {
  readonly seed: number;
  readonly mutation: string | null;
  readonly passed: boolean;
  readonly counts: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
  /** What was judged; null when the campaign broke off. */
  readonly history: History | null;
}

/** Share of the shards' calls to the Run that fail. */
const COMMIT_FAULTS = 0.03;

/**
 * Runs clients, trainers and faults against a server for a while, drains it, and judges what was seen.
 * @throws when the server can't be built, or a mutation doesn't fit its source.
 */
export async function chaos(options: CampaignOptions): Promise<Verdict> {
  const { seed, mutation = null, onLog = () => undefined } = options;
  const edits = mutation === null ? [] : mutationOf(mutation).edits;
  const counts = new Counts();
  const recorder = new Recorder();
  const onFault = (name: string) => counts.add(name);
  const server = new ChaosServer({ edits, seed, commitFaults: COMMIT_FAULTS, onFault, onLog });
  const onExchange = recorder.answered.bind(recorder);
  const proxy = new ChaosProxy({ seed, clock: startClock(), counts, onExchange });
  try {
    const url = await server.start();
    const stage = { server, proxy, recorder, counts, url, through: await proxy.start(url) };
    const played = await play(stage, options).catch((error: unknown) => whyBroken(error));
    const isWhole = "submissions" in played;
    if (isWhole) countHistory(played, counts);
    const findings = isWhole ? [...judge(played), recorder.finding()] : [played];
    const passed = findings.every(({ faults }) => faults.length === 0);
    return { seed, mutation, passed, counts: counts.all(), findings, history: isWhole ? played : null };
  } finally {
    await server.remove();
    await proxy.stop();
  }
}

/** @throws for a name that no mutation has. */
export function mutationOf(name: string): Mutation {
  const mutation = MUTATIONS[name];
  if (mutation === undefined)
    throw new Error(`no mutation is called ${JSON.stringify(name)}: there are ${Object.keys(MUTATIONS).join(", ")}`);
  return mutation;
}

interface Stage {
  readonly server: ChaosServer;
  readonly proxy: ChaosProxy;
  readonly recorder: Recorder;
  readonly counts: Counts;
  /** Of the server. */
  readonly url: URL;
  /** The same, through the proxy. */
  readonly through: URL;
}

/** @throws when a client never gets an answer, or the run can't be drained. */
async function play(stage: Stage, { seed, seconds }: CampaignOptions): Promise<History> {
  const { server, proxy, recorder, counts, url, through } = stage;
  const client = new Client({ url });
  const doors = new Doors(url);
  // Every other seed: a run that tells requests by their contents must not hide that it lost sight of their keys.
  const deduplicates = seed % 2 === 0;
  const environments = await setUp(client, deduplicates);
  const wire = (name: string) => new Wire(through, name, new Random(seed, name), recorder);

  let phase: "wild" | "ending" | "draining" = "wild";
  const isOn = () => phase === "wild";
  const clients = [...environments].flatMap(([scene, environment]) =>
    Array.from({ length: scene.clients }, (_, number) => {
      const work = { wire: wire(`${scene.name}-${number}`), environment, scene, deduplicates, isOn };
      return scene.way === "leased" ? submitLeased(work) : submitUnleased(work);
    }),
  );
  const trainers = TRAINERS.map(({ name, ranks, saysHold }) => {
    return { wire: wire(name), ranks, saysHold, counts, isOn: () => phase !== "draining", isWild: isOn };
  });
  const training = trainers.map(train);
  const haunting = haunt({ server, url, random: new Random(seed, "nemesis"), counts, isOn });

  const all = Promise.all([...clients, ...training, haunting]);
  await Promise.race([pause(seconds * 1000), all]);
  phase = "ending";
  await Promise.race([haunting, all]);
  await proxy.calm();
  await doors.stopCommitFaults();
  await Promise.race([Promise.all(clients), all]);
  phase = "draining";
  await all;
  const lastBusyStep = await drain({
    client,
    doors,
    environments: environments.values(),
    trainers,
    filler: wire("filler"),
  });
  const rewound = await rewind({ client, server, doors, deduplicate: deduplicates, acks: recorder.acks });
  const { submissions, deliveries, acks, released } = recorder;
  return {
    batchSize: BATCH_SIZE,
    maxStaleness: MAX_STALENESS,
    admissionBound: MAX_BATCHES_OFFPOLICY * BATCH_SIZE,
    submissions,
    deliveries,
    acks,
    released,
    rewind: rewound,
    lastBusyStep,
    ...(await readRecords(client, doors)),
  };
}

function whyBroken(error: unknown): Finding {
  const why = error instanceof Error ? error.message : String(error);
  return { check: "the campaign runs to its end", checked: 1, faults: [why] };
}
