import { describe, expect, test } from "vitest";
import type { Message, Renderer } from "../inference/index.ts";
import { decode, encode, render } from "../inference/testing.ts";
import { hermesToolCalls, Trajectory } from "./index.ts";
import { SAMPLING, shown, start, user } from "./testing.ts";

const answers = (...texts: string[]) => {
  let turn = 0;
  return () => texts[turn++] ?? null;
};

describe("turns", () => {
  test("extend one sequence, verbatim", async () => {
    const { trajectory, server } = start({ answer: answers("one", "two") }, { messages: [user("a")] });
    await trajectory.turn(SAMPLING);
    trajectory.addMessage(user("b"));
    const turn = await trajectory.turn(SAMPLING);
    expect(turn).toMatchObject({ text: "two", forked: false, message: { role: "assistant", content: "two" } });
    expect(trajectory.sequences.map(shown)).toEqual([
      "<|user|>a<|end|><|assistant|>[one<|end|>]<|user|>b<|end|><|assistant|>[two<|end|>]",
    ]);
    const [first, second] = server.sampled;
    expect(second?.prompt.slice(0, 4 + 4)).toEqual([...(first?.prompt ?? []), ...(first?.tokens ?? [])].slice(0, 8));
  });

  test("carry masks, logprobs and versions for each position", async () => {
    const { trajectory, server } = start({ answer: answers("x", "y") }, { messages: [user("a")] });
    server.version = 3;
    await trajectory.turn(SAMPLING);
    server.version = 5;
    trajectory.addMessage(user("b"));
    await trajectory.turn(SAMPLING);
    const [sequence] = trajectory.sequences;
    const [first, second] = server.sampled;
    expect(sequence).toMatchObject({
      masks: [-100, -100, -100, -100, ...(first?.tokens ?? []), -100, -100, -100, -100, ...(second?.tokens ?? [])],
      logprobs: [1, 1, 1, 1, ...(first?.logprobs ?? []), 1, 1, 1, 1, ...(second?.logprobs ?? [])],
      versions: [
        [null, 4],
        [3, 2],
        [null, 4],
        [5, 2],
      ],
      finishReason: "stop",
      truncated: false,
      exact: true,
      messages: [user("a"), { role: "assistant", content: "x" }, user("b"), { role: "assistant", content: "y" }],
    });
  });

  test("a version that changes in the middle of a turn", async () => {
    const { trajectory, server } = start(
      { answer: () => "abcd", onToken: () => (server.version = server.version < 1 ? 1 : 2) },
      { messages: [user("a")] },
    );
    await trajectory.turn(SAMPLING);
    expect(trajectory.sequences[0]?.versions).toEqual([
      [null, 4],
      [0, 1],
      [1, 1],
      [2, 3],
    ]);
  });

  test("a server that doesn't tell versions", async () => {
    const { trajectory } = start({ tellVersions: false }, { messages: [user("a")] });
    await trajectory.turn(SAMPLING);
    expect(trajectory.sequences[0]?.versions).toBeNull();
  });

  test("a turn cut off by length gets the end as prompt", async () => {
    const { trajectory } = start({ answer: answers("abcdef", "x") }, { messages: [user("a")] });
    await trajectory.turn({ ...SAMPLING, maxTokens: 3 });
    trajectory.addMessage(user("b"));
    await trajectory.turn(SAMPLING);
    expect(trajectory.sequences.map(shown)).toEqual([
      "<|user|>a<|end|><|assistant|>[abc]<|end|><|user|>b<|end|><|assistant|>[x<|end|>]",
    ]);
    expect(trajectory.sequences[0]).toMatchObject({ truncated: true, finishReason: "stop" });
  });

  test("a stop string stays in the text, as its tokens do", async () => {
    const { trajectory } = start({ answer: answers("a</x>b", "c") }, { messages: [user("a")] });
    expect(await trajectory.turn({ ...SAMPLING, stop: ["</x>"] })).toMatchObject({ text: "a</x>" });
    trajectory.addMessage(user("b"));
    await trajectory.turn({ ...SAMPLING, stop: ["</x>"] });
    expect(trajectory.sequences.map(shown)).toEqual([
      "<|user|>a<|end|><|assistant|>[a</x>]<|end|><|user|>b<|end|><|assistant|>[c<|end|>]",
    ]);
  });
});

describe("ends of turns", () => {
  test("a template without them: the sampled end stays, in all later turns", async () => {
    const { trajectory } = start({ template: "no-end", answer: answers("x", "y", "z") }, { messages: [user("a")] });
    for (const next of ["b", "c"]) {
      await trajectory.turn(SAMPLING);
      trajectory.addMessage(user(next));
    }
    await trajectory.turn(SAMPLING);
    expect(trajectory.sequences.map(shown)).toEqual([
      "<|user|>a<|end|><|assistant|>[x<|end|>]<|user|>b<|end|><|assistant|>[y<|end|>]<|user|>c<|end|><|assistant|>[z<|end|>]",
    ]);
  });

  test.each(["append", "strip-thinking"] as const)(
    "text that brings its end along doesn't double it (%s)",
    async (template) => {
      const thought = template === "append" ? "" : "<think>a</think>";
      const { trajectory } = start({ template, answer: answers(`${thought}x`, "y", "z") }, { messages: [user("a")] });
      for (const next of ["b", "c"]) {
        const { text, message } = await trajectory.turn({ ...SAMPLING, skipSpecialTokens: false });
        expect(text).toBe(`${message.content}<|end|>`);
        trajectory.addMessage(user(next));
      }
      await trajectory.turn(SAMPLING);
      const x = template === "append" ? "[x<|end|>]" : "x<|end|>";
      expect(trajectory.sequences.slice(-1).map(shown)).toEqual([
        `<|user|>a<|end|><|assistant|>${x}<|user|>b<|end|><|assistant|>[y<|end|>]<|user|>c<|end|><|assistant|>[z<|end|>]`,
      ]);
    },
  );

  test("a template that writes it twice", async () => {
    const { inference } = start({ answer: answers("x", "y") });
    const renderer: Renderer = {
      render: async (messages, { addGenerationPrompt }) => {
        const text = render(messages, "append", { generationPrompt: addGenerationPrompt });
        return encode(text.replaceAll(/(<\|assistant\|>[^<]+<\|end\|>)/g, "$1<|end|>"));
      },
      encode: async (text) => encode(text),
      decode: async (ids) => decode(ids, false),
    };
    const trajectory = new Trajectory({ inference, renderer, messages: [user("a")] });
    await trajectory.turn(SAMPLING);
    trajectory.addMessage(user("b"));
    await trajectory.turn(SAMPLING);
    expect(trajectory.sequences.map(shown)).toEqual([
      "<|user|>a<|end|><|assistant|>[x<|end|>]<|user|>b<|end|><|assistant|>[y<|end|>]",
    ]);
  });

  test("a server without /detokenize", async () => {
    const { trajectory } = start(
      { fault: (path) => (path === "/detokenize" ? new Response("", { status: 404 }) : null) },
      { messages: [user("a")] },
    );
    await trajectory.turn(SAMPLING);
    expect(trajectory.sequences).toHaveLength(1);
  });
});

describe("forks", () => {
  test("where earlier thoughts are dropped", async () => {
    const { trajectory } = start(
      { template: "strip-thinking", answer: answers("<think>hm</think>x", "y", "z") },
      { messages: [user("a")] },
    );
    const forked: boolean[] = [];
    for (const next of ["b", "c", "d"]) {
      forked.push((await trajectory.turn(SAMPLING)).forked);
      trajectory.addMessage(user(next));
    }
    expect(forked).toEqual([false, true, false]);
    const [first, second] = trajectory.sequences;
    expect(trajectory.sequences.map(shown)).toEqual([
      "<|user|>a<|end|><|assistant|>[<think>hm</think>x<|end|>]",
      "<|user|>a<|end|><|assistant|>x<|end|><|user|>b<|end|><|assistant|>[y<|end|>]<|user|>c<|end|><|assistant|>[z<|end|>]",
    ]);
    expect(first?.messages).toHaveLength(2);
    expect(second?.messages).toHaveLength(6);
  });

  test("where text tokenizes otherwise than it was sampled", async () => {
    const { inference } = start({ answer: answers("x", "y") });
    // A template that writes x as two tokens once it isn't the last.
    const renderer: Renderer = {
      render: async (messages, { addGenerationPrompt }) =>
        encode(render(messages, "append", { generationPrompt: addGenerationPrompt }).replace("x", "XX")),
      encode: async (text) => encode(text),
      decode: async (ids) => decode(ids, false),
    };
    const trajectory = new Trajectory({ inference, renderer, messages: [user("a")] });
    await trajectory.turn(SAMPLING);
    trajectory.addMessage(user("b"));
    expect(await trajectory.turn(SAMPLING)).toMatchObject({ forked: true });
    expect(trajectory.sequences.map(shown)).toEqual([
      "<|user|>a<|end|><|assistant|>[x<|end|>]",
      "<|user|>a<|end|><|assistant|>XX<|end|><|user|>b<|end|><|assistant|>[y<|end|>]",
    ]);
  });
});

describe("tools", () => {
  const tools = [{ type: "function" as const, function: { name: "add" } }];
  const result: Message = { role: "tool", content: "3", tool_call_id: "call_0_0" };

  test.each([
    ['<tool_call>{"name":"add","arguments":{"a":1}}</tool_call>', "parsed", false],
    ['<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', "parsed", true],
    ['<tool_call>{"name": "add", "arguments": {"a": 1}}</tool_call>', "text", false],
  ] as const)("%s, rendered as %s", async (call, renderToolCalls, forks) => {
    const { trajectory } = start(
      { answer: answers(call, "3!") },
      { messages: [user("1+2")], tools, parseToolCalls: hermesToolCalls, renderToolCalls },
    );
    const { message } = await trajectory.turn(SAMPLING);
    expect(message).toMatchObject({ content: "", tool_calls: [{ id: "call_0_0", function: { name: "add" } }] });
    trajectory.addMessage(result);
    expect(await trajectory.turn(SAMPLING)).toMatchObject({ text: "3!", forked: forks });
    const last = trajectory.sequences.at(-1);
    expect(last && shown(last)).toMatch(/<\|tool\|>3<\|end\|><\|assistant\|>\[3!<\|end\|>\]$/);
    expect(trajectory.messages).toHaveLength(4);
  });

  test("text that is no call stays text", () => {
    const text = "<tool_call>{oops</tool_call> and <tool_call>[]</tool_call>";
    expect(hermesToolCalls(text, 0)).toEqual({ content: text, toolCalls: [] });
  });
});

describe("failures", () => {
  test("leave the trajectory as it was", async () => {
    let broken = false;
    const { trajectory } = start(
      {
        answer: () => "x",
        fault: (path) => (broken && path === "/v1/completions" ? new Response("", { status: 400 }) : null),
      },
      { messages: [user("a")] },
    );
    await trajectory.turn(SAMPLING);
    trajectory.addMessage(user("b"));
    const before = { sequences: trajectory.sequences, messages: [...trajectory.messages] };
    broken = true;
    await expect(trajectory.turn(SAMPLING)).rejects.toMatchObject({ reason: "status" });
    expect({ sequences: trajectory.sequences, messages: trajectory.messages }).toEqual(before);
    broken = false;
    expect(await trajectory.turn(SAMPLING)).toMatchObject({ forked: false });
  });

  test("of a parser too", async () => {
    let broken = true;
    const parseToolCalls = (content: string) => {
      if (broken) throw new Error("no");
      return { content, toolCalls: [] };
    };
    const { trajectory } = start({ answer: () => "x" }, { messages: [user("a")], parseToolCalls });
    await expect(trajectory.turn(SAMPLING)).rejects.toThrow("no");
    expect([trajectory.sequences, trajectory.messages, trajectory.tokenCount]).toEqual([[], [user("a")], 0]);
    broken = false;
    await trajectory.turn(SAMPLING);
    expect(trajectory.sequences.map(shown)).toEqual(["<|user|>a<|end|><|assistant|>[x<|end|>]"]);
  });

  test("one turn at a time, and no messages during it", async () => {
    const { trajectory } = start({}, { messages: [user("a")] });
    const turn = trajectory.turn(SAMPLING);
    await expect(trajectory.turn(SAMPLING)).rejects.toThrow("one turn at a time");
    expect(() => trajectory.addMessage(user("b"))).toThrow("after the turn under way");
    await turn;
    trajectory.addMessage(user("b"));
  });

  test("without a turn there is no rollout", () => {
    expect(() => start({}).trajectory.rollout()).toThrow("without a turn");
  });
});
