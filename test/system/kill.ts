import { z } from "zod";
import { type Answer, send } from "../support/http.ts";
import { check } from "./checks.ts";
import { registration, type ServerProcess, withServer } from "./server.ts";

const GROUP_SIZE = 4;
const BATCH_SIZE = 16;
const POSTERS = 6;
/** Tokens of a sequence that makes its group longer than one row, so that it goes the way of large bodies. */
const LONG_SEQUENCE = 60_000;
const DRAIN_WITHIN_MS = 60_000;

const batchBody = z.object({ batch: z.array(z.object({ tokens: z.array(z.array(z.int())) })).nullable() });

/** What the clients saw: the only thing that is judged. */
class History {
  /** Serials of groups that were answered `received`. */
  readonly received = new Set<number>();
  /** Sent, and the answer never came: may be delivered or not. */
  readonly unknown = new Set<number>();
  /** By batch id, the serials of a body that arrived whole. */
  readonly batches = new Map<string, { step: number; serials: string }>();
  readonly faults: string[] = [];
  /** Ids of batches whose headers arrived, whole or not. */
  readonly begun = new Set<string>();
  broken = 0;
  refused = 0;
  servedAgain = 0;

  delivered(id: string, step: number, serials: readonly number[]): void {
    const before = this.batches.get(id);
    const text = serials.join(" ");
    if (before === undefined) this.batches.set(id, { step, serials: text });
    else {
      this.servedAgain += 1;
      if (before.serials !== text || before.step !== step) this.faults.push(`batch ${id} came again as another one`);
    }
  }
}

/**
 * Kills the server at random moments under load, starts it again on the same state, and then judges what its clients saw:
 * nothing that was answered `received` is lost or delivered twice, and a batch that broke off comes again whole.
 */
export function killUnderLoad(kills: number, random: () => number): Promise<void> {
  return withServer((server) => load(server, kills, random));
}

async function load(server: ServerProcess, kills: number, random: () => number): Promise<void> {
  const history = new History();
  await send({ method: "POST", url: `${server.url}/register`, body: registration(BATCH_SIZE) });

  let nextSerial = 1;
  let posting = true;
  let training = true;
  const posters = Array.from({ length: POSTERS }, async (_, number) => {
    while (posting) await post(server, history, () => nextSerial++, number);
  });
  const trainer = (async () => {
    while (training) await train(server, history, random);
  })();

  for (let kill = 1; kill <= kills; kill++) {
    await new Promise((resolve) => setTimeout(resolve, 200 + random() * 1_500));
    const what = random() < 0.5 ? "group" : "command";
    await server.kill(what);
    await server.start();
    console.log(
      `kill ${kill} of ${kills} (${what}): ${history.received.size} received, ${history.batches.size} batches`,
    );
  }
  posting = false;
  await Promise.all(posters);
  training = false;
  await trainer;

  await drain(server, history, () => nextSerial++, random);
  judge(history);
}

/** Posts one group, a list of two, or a long group, plain or gzipped; never one serial twice. */
async function post(server: ServerProcess, history: History, serial: () => number, poster: number): Promise<void> {
  const isList = poster === 1;
  const isLong = poster === 2 || poster === 3;
  const serials = isList ? [serial(), serial()] : [serial()];
  const groups = serials.map((number) => group(number, isLong ? LONG_SEQUENCE : 8));
  const body = JSON.stringify(isList ? groups : groups[0]);
  try {
    const url = `${server.url}${isList ? "/scored_data_list" : "/scored_data"}`;
    const answer = await send({ method: "POST", url, body, gzip: poster % 2 === 0 });
    if (answer.status === 200) for (const number of serials) history.received.add(number);
    else history.faults.push(`a post was answered ${answer.status}: ${answer.text}`);
  } catch (error) {
    if (isRefused(error)) history.refused += 1;
    else for (const number of serials) history.unknown.add(number);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** The server was down: nothing left the client. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && "code" in error && error.code === "ECONNREFUSED";
}

function group(serial: number, length: number) {
  const sequence = (index: number) => [serial, index, ...Array.from({ length: length - 2 }, (_, at) => at)];
  const tokens = Array.from({ length: GROUP_SIZE }, (_, index) => sequence(index));
  return { tokens, masks: tokens, scores: [0.5, 1.5, -0.5, 0.25] };
}

/** Takes one batch, if there is one. @returns whether there was. */
async function train(server: ServerProcess, history: History, random: () => number): Promise<boolean> {
  let answer: Answer;
  try {
    answer = await send({
      method: "GET",
      url: `${server.url}/batch`,
      headers: random() < 0.5 ? { "accept-encoding": "gzip" } : {},
      onHeaders: (headers) => {
        const id = headers["lachesis-batch"];
        if (typeof id === "string") history.begun.add(id);
      },
    });
  } catch (error) {
    if (!isRefused(error)) history.broken += 1;
    await new Promise((resolve) => setTimeout(resolve, 50));
    return false;
  }
  if (answer.status !== 200) {
    history.faults.push(`a request for a batch was answered ${answer.status}: ${answer.text.slice(0, 200)}`);
    return false;
  }
  const { batch } = batchBody.parse(JSON.parse(answer.text));
  if (batch === null) {
    await new Promise((resolve) => setTimeout(resolve, 20));
    return false;
  }
  const serials = batch.map(({ tokens }) => tokens[0]?.[0] ?? Number.NaN);
  history.delivered(String(answer.headers["lachesis-batch"]), Number(answer.headers["lachesis-step"]), serials);
  return true;
}

/** Fills up the last batch, and takes batches until the queue is empty. */
async function drain(
  server: ServerProcess,
  history: History,
  serial: () => number,
  random: () => number,
): Promise<void> {
  const deadline = Date.now() + DRAIN_WITHIN_MS;
  const status = z.object({ queue_size: z.int(), open_batches: z.int() });
  for (;;) {
    if (Date.now() > deadline) throw new Error("the queue is not empty a minute after the last kill");
    while (await train(server, history, random));
    const { text } = await send({ method: "GET", url: `${server.url}/status?explain` });
    const { queue_size, open_batches } = status.parse(JSON.parse(text));
    if (queue_size === 0 && open_batches === 0) return;
    if (open_batches === 0) await post(server, history, serial, 3);
  }
}

function judge(history: History): void {
  const times = new Map<number, number>();
  for (const { serials } of history.batches.values()) {
    for (const serial of serials.split(" ").map(Number)) times.set(serial, (times.get(serial) ?? 0) + 1);
  }
  const lost = [...history.received].filter((serial) => !times.has(serial));
  const repeated = [...times].filter(([, count]) => count > 1).map(([serial]) => serial);
  const strangers = [...times.keys()].filter((serial) => !history.received.has(serial) && !history.unknown.has(serial));
  const missing = [...history.begun].filter((id) => !history.batches.has(id));
  const byId = [...history.batches].toSorted(([a], [b]) => Number(a) - Number(b));
  console.log(
    `${history.received.size} groups received, ${history.unknown.size} of unknown fate, ${history.refused} posts refused ` +
      `while the server was down, ${history.batches.size} batches, ${history.broken} broken off, ` +
      `${history.servedAgain} served again after they had arrived`,
  );
  check("every group that was answered received is delivered", lost.length === 0, lost.slice(0, 10).join(" "));
  check("no group is in two batches", repeated.length === 0, repeated.slice(0, 10).join(" "));
  check("nothing is delivered that nobody sent", strangers.length === 0, strangers.slice(0, 10).join(" "));
  check(
    "no answer was a fault, and a batch that comes again is the same",
    history.faults.length === 0,
    history.faults.slice(0, 3).join("; "),
  );
  check("a batch that broke off comes again whole", missing.length === 0, missing.slice(0, 10).join(" "));
  check(
    "every step is one batch, in the order of their ids",
    byId.every(([, { step }], index) => step === index + 1),
    byId
      .slice(-3)
      .map(([id, { step }]) => `${id}:${step}`)
      .join(" "),
  );
}
