import { describe, expect, test } from "vitest";
import { type Message, openInference, serverRenderer } from "../inference/index.ts";
import { FakeServer, type FakeServerOptions, fakeEndpoint } from "../inference/testing.ts";
import { sampleGroup, Trajectory, toScoredGroup, trainedTokens } from "./index.ts";

const user = (content: string): Message => ({ role: "user", content });

function open(options: FakeServerOptions = {}) {
  const server = new FakeServer(options);
  const inference = openInference(fakeEndpoint(), {
    purpose: "training",
    secretOf: () => undefined,
    fetch: server.fetch,
  });
  return { server, inference, renderer: serverRenderer(inference) };
}

describe("sampleGroup", () => {
  test("renders once, samples n rollouts", async () => {
    const { server, inference, renderer } = open();
    server.version = 4;
    const rollouts = await sampleGroup({
      inference,
      renderer,
      messages: [user("a")],
      n: 10,
      maxTokens: 20,
      temperature: 1,
    });
    expect(server.requests.map(({ path }) => path)).toEqual(["/tokenize", "/v1/completions", "/v1/completions"]);
    const group = toScoredGroup(rollouts, { scores: rollouts.map((_, index) => index) });
    expect(group.tokens).toEqual(server.sampled.map(({ prompt, tokens }) => [...prompt, ...tokens]));
    expect(group.masks).toEqual(server.sampled.map(({ prompt, tokens }) => [...prompt.map(() => -100), ...tokens]));
    expect(group.inference_logprobs).toEqual(
      server.sampled.map(({ prompt, logprobs }) => [...prompt.map(() => 1), ...logprobs]),
    );
    expect(group.policy_versions).toEqual(
      server.sampled.map(({ prompt, tokens }) => [
        [null, prompt.length],
        [4, tokens.length],
      ]),
    );
    expect(group).toMatchObject({
      scores: [0, 1, 2, 3, 4, 5, 6, 7, 8, 9],
      generation_params: {
        temperature: 1,
        max_tokens: 20,
        logprobs: "raw",
        backend: "vllm",
        model: "toy",
        exact: true,
      },
    });
    expect(group.messages?.map((chat) => chat.at(-1)?.content)).toEqual(rollouts.map(({ text }) => text));
  });
});

/** Two rollouts: one of two turns that forks, and one plain turn. */
async function forkedAndPlain() {
  const { inference, renderer } = open({
    template: "strip-thinking",
    answer: ({ prompt }) => (prompt.includes("first") && !prompt.includes("second") ? "<think>a</think>b" : "c"),
  });
  const options = { inference, renderer };
  const forked = new Trajectory({ ...options, messages: [user("first")] });
  await forked.turn({ maxTokens: 50, temperature: 0.5 });
  forked.addMessage(user("second"));
  await forked.turn({ maxTokens: 50, temperature: 0.5 });
  const plain = new Trajectory({ ...options, messages: [user("other")] });
  await plain.turn({ maxTokens: 50, temperature: 0.5 });
  return [forked.rollout(), plain.rollout()];
}

describe("toScoredGroup", () => {
  test("every sequence of a rollout gets the rollout's score, advantage and overrides", async () => {
    const rollouts = await forkedAndPlain();
    const group = toScoredGroup(rollouts, {
      scores: [1, -1],
      advantages: [0.5, -0.5],
      overrides: [{ set_advantage_to_zero: true }, {}],
      groupOverrides: { a: 1 },
      envId: 7,
    });
    expect(group).toMatchObject({
      scores: [1, 1, -1],
      overrides: [{ set_advantage_to_zero: true }, { set_advantage_to_zero: true }, {}],
      group_overrides: { a: 1 },
      env_id: 7,
    });
    for (const list of [group.tokens, group.masks, group.inference_logprobs, group.messages, group.policy_versions]) {
      expect(list).toHaveLength(3);
    }
    const expected = [0.5, 0.5, -0.5].map((advantage, index) =>
      group.masks[index]?.map((mask) => (mask === -100 ? 0 : advantage)),
    );
    expect(group.advantages).toEqual(expected);
    expect(rollouts.flatMap(({ sequences }) => sequences.map(trainedTokens))).toEqual([18, 2, 2]);
  });

  test("advantages may be given for each position", async () => {
    const [, plain] = await forkedAndPlain();
    if (plain === undefined) throw new Error("no rollout");
    const positions = plain.sequences.map(({ tokens }) => tokens.map((_, index) => index));
    expect(toScoredGroup([plain], { scores: [1], advantages: [positions] }).advantages).toEqual(positions);
    expect(() => toScoredGroup([plain], { scores: [1], advantages: [[[1]]] })).toThrow(
      "advantages[0][0] has 1 numbers",
    );
  });

  test("keys that nobody gave are left out", async () => {
    const group = toScoredGroup(await forkedAndPlain(), { scores: [1, 2] });
    for (const name of ["advantages", "overrides", "group_overrides", "env_id"]) expect(group).not.toHaveProperty(name);
  });

  test("tokens that are not the sampler's are marked", async () => {
    const [rollout] = await forkedAndPlain();
    if (rollout === undefined) throw new Error("no rollout");
    const inexact = {
      ...rollout,
      sequences: rollout.sequences.map((one) => ({ ...one, exact: false, versions: null })),
    };
    const group = toScoredGroup([rollout, inexact], { scores: [1, 2] });
    expect(group.generation_params.exact).toBe(false);
    const length = group.tokens[2]?.length;
    expect(group.policy_versions?.[2]).toEqual([[null, length]]);
    expect(toScoredGroup([inexact], { scores: [1] }).policy_versions).toBeNull();
  });

  test.each([
    [{ scores: [1] }, "scores has 1 entries for 2 rollouts"],
    [{ scores: [1, 2], overrides: [{}] }, "overrides has 1 entries"],
    [{ scores: [1, 2], advantages: [1, 2, 3] }, "advantages has 3 entries"],
  ])("refuses %j", async (given, says) => {
    const rollouts = await forkedAndPlain();
    expect(() => toScoredGroup(rollouts, given)).toThrow(says);
  });

  test("refuses an empty group", () => {
    expect(() => toScoredGroup([], { scores: [] })).toThrow("at least one rollout");
  });
});
