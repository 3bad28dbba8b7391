import { expect, test } from "vitest";
import { z } from "zod";
import { type LocalServer, startServer } from "../../cli/server/local-server.ts";
import type { Asked, Sampled, ToyTemplate } from "../../environments/kit/inference/testing.ts";
import { Client } from "../../src/client/client.ts";
import { cleanUp } from "./support/clean-up.ts";
import { EnvironmentFolder } from "./support/environment-folder.ts";
import { type InferenceSocket, startInference } from "./support/inference-socket.ts";

/** What a trainer gets is what the inference server sampled, id by id and logprob by logprob. */

const MASKED = -100;
const group = z.looseObject({
  tokens: z.array(z.array(z.int())),
  masks: z.array(z.array(z.int())),
  inference_logprobs: z.array(z.array(z.number())),
});
type Group = z.infer<typeof group>;

interface Case {
  readonly turns: number;
  readonly size: number;
  readonly template: ToyTemplate;
  readonly answer?: (asked: Asked) => string;
  /** Sequences that each rollout comes to. */
  readonly sequences: number;
}

async function firstGroup({ turns, size, template, answer, sequences }: Case): Promise<[Group, InferenceSocket]> {
  const inference = await startInference({ template, ...(answer === undefined ? {} : { answer }) });
  cleanUp(() => inference.close());
  const folder = new EnvironmentFolder();
  cleanUp(() => folder.remove());
  const environment = folder.add("conversation", {
    turns,
    group_size: size,
    lease_sequences: size * sequences,
    max_tokens: 40,
    filters: { keep_equal_scores: true },
  });
  const server = await start(environment);
  const client = new Client({ url: server.url });
  const batch_size = size * sequences;
  await client.registerTrainer({ batch_size, max_token_len: 4096, num_steps: 1, max_batches_offpolicy: 1 });
  await client.publish({ version: 0, endpoints: [{ url: inference.url, model: "toy" }] });
  server.startCrons();
  const batch = await client.takeBatch({ lease: 60, wait: 60 });
  return [group.parse(batch?.groups[0]), inference];
}

async function start(environment: ReturnType<EnvironmentFolder["add"]>): Promise<LocalServer> {
  const server = await startServer({
    host: "127.0.0.1",
    port: 0,
    state: null,
    variables: { ALLOW_ANONYMOUS: "true" },
    environments: [environment],
    onLog: () => undefined,
  });
  cleanUp(() => server.stop());
  return server;
}

interface Turn {
  /** All that stood before it. */
  readonly prompt: readonly number[];
  readonly tokens: readonly number[];
  readonly logprobs: readonly number[];
}

/** The parts of a sequence that are trained on, each with what came before it. */
function turnsOf({ tokens, masks, inference_logprobs }: Group, sequence: number): Turn[] {
  const [ids = [], mask = [], logprobs = []] = [tokens[sequence], masks[sequence], inference_logprobs[sequence]];
  expect([mask.length, logprobs.length]).toEqual([ids.length, ids.length]);
  const turns: Turn[] = [];
  for (let from = 0; from < ids.length; ) {
    if (mask[from] === MASKED) {
      expect(logprobs[from]).toBe(1);
      from += 1;
      continue;
    }
    let to = from;
    while (to < ids.length && mask[to] !== MASKED) to += 1;
    expect(mask.slice(from, to)).toEqual(ids.slice(from, to));
    turns.push({ prompt: ids.slice(0, from), tokens: ids.slice(from, to), logprobs: logprobs.slice(from, to) });
    from = to;
  }
  return turns;
}

const key = ({ prompt, tokens, logprobs }: Turn | Sampled) => JSON.stringify([prompt, tokens, logprobs]);
const plain = ({ prompt }: Asked) => `answer ${prompt.length}`;
/** Thinks in its first turn alone. */
const thinkFirst = ({ prompt }: Asked) => (prompt.includes("go on") ? "so be it" : "<think>hm</think>well");
const thinkAlways = ({ prompt }: Asked) => `<think>hm ${prompt.length}</think>well`;

test.each<[string, Case]>([
  ["one turn", { turns: 1, size: 1, template: "append", sequences: 1 }],
  ["eight rollouts of one prompt", { turns: 1, size: 8, template: "append", sequences: 1 }],
  ["twelve, which take two calls", { turns: 1, size: 12, template: "append", sequences: 1 }],
  ["three turns", { turns: 3, size: 2, template: "append", answer: plain, sequences: 1 }],
  [
    "three turns without end tokens in the template",
    { turns: 3, size: 2, template: "no-end", answer: plain, sequences: 1 },
  ],
  [
    "three turns, the first one's thoughts dropped",
    { turns: 3, size: 2, template: "strip-thinking", answer: thinkFirst, sequences: 2 },
  ],
  [
    "three turns, all thoughts dropped",
    { turns: 3, size: 2, template: "strip-thinking", answer: thinkAlways, sequences: 3 },
  ],
])("%s", async (_what, given) => {
  const [found, { fake }] = await firstGroup(given);
  expect(found.tokens).toHaveLength(given.size * given.sequences);
  const turns = found.tokens.map((_, sequence) => turnsOf(found, sequence));
  // Each completion is in the batch once; where the template dropped what was said, the turns stand in sequences of their own.
  expect(turns.flat().map(key).toSorted()).toEqual(fake.sampled.map(key).toSorted());
  expect(turns.flat()).toHaveLength(given.turns * given.size);
});
