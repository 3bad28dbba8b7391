import { describe, expect, test } from "vitest";
import { fetchFrom } from "../bucket.ts";
import { type Fetch, type Message, tokenizerRenderer } from "./index.ts";

const installed = await import("@huggingface/tokenizers").then(
  () => true,
  () => false,
);

const WORDS = ["<s>", "</s>", "<|user|>", "<|assistant|>", "hi", "there", "add", "1", "unknown"];
const SPECIAL = 4;

/** A tokenizer of whole words, split at spaces. */
const tokenizer = {
  version: "1.0",
  added_tokens: WORDS.slice(0, SPECIAL).map((content, id) => ({ id, content, special: true, normalized: false })),
  normalizer: null,
  pre_tokenizer: { type: "WhitespaceSplit" },
  post_processor: {
    type: "TemplateProcessing",
    single: [{ SpecialToken: { id: "<s>", type_id: 0 } }, { Sequence: { id: "A", type_id: 0 } }],
    pair: [{ Sequence: { id: "A", type_id: 0 } }],
    special_tokens: { "<s>": { id: "<s>", ids: [0], tokens: ["<s>"] } },
  },
  decoder: null,
  model: { type: "WordLevel", vocab: Object.fromEntries(WORDS.map((word, id) => [word, id])), unk_token: "unknown" },
};

const TEMPLATE =
  "{{ bos_token }}{% for m in messages %}<|{{ m.role }}|> {{ m.content }}" +
  "{% if m.tool_calls %}{% for c in m.tool_calls %} {{ c.function.name }} {{ c.function.arguments.a }}{% endfor %}{% endif %}" +
  "{{ eos_token }}{% endfor %}" +
  "{% if add_generation_prompt %}<|assistant|>{% endif %}";

const AT = "https://models.test/toy";
const config = { bos_token: { content: "<s>" }, eos_token: "</s>" };
const hi: Message = { role: "user", content: "hi" };

function files(contents: Record<string, string>) {
  const asked: string[] = [];
  const send: Fetch = async (url) => {
    asked.push(url);
    const content = contents[url];
    return content === undefined ? new Response("", { status: 404 }) : new Response(content);
  };
  return { fetch: send, asked };
}

describe.skipIf(!installed)("tokenizerRenderer", () => {
  const named = [
    { name: "tool_use", template: "no" },
    { name: "default", template: TEMPLATE },
  ];
  test.each<[string, Record<string, string>, { templateUrl?: string }]>([
    ["in the config", { "tokenizer_config.json": JSON.stringify({ ...config, chat_template: TEMPLATE }) }, {}],
    ["among the config's", { "tokenizer_config.json": JSON.stringify({ ...config, chat_template: named }) }, {}],
    ["beside it", { "tokenizer_config.json": JSON.stringify(config), "chat_template.jinja": TEMPLATE }, {}],
    [
      "where it is said to be",
      { "tokenizer_config.json": JSON.stringify({ ...config, chat_template: "no" }), "mine.jinja": TEMPLATE },
      { templateUrl: `${AT}/mine.jinja` },
    ],
    [
      "without a config to go with it",
      { "mine.jinja": TEMPLATE.replace("{{ bos_token }}", "<s> ").replace("{{ eos_token }}", "</s>") },
      { templateUrl: `${AT}/mine.jinja` },
    ],
  ])("a template %s", async (_, contents, source) => {
    const all = { "tokenizer.json": JSON.stringify(tokenizer), ...contents };
    const { fetch, asked } = files(
      Object.fromEntries(Object.entries(all).map(([name, text]) => [`${AT}/${name}`, text])),
    );
    const renderer = await tokenizerRenderer({ tokenizerUrl: `${AT}/tokenizer.json`, fetch, ...source });
    const ids = await renderer.render([hi], { addGenerationPrompt: true });
    expect(ids).toEqual([0, 2, 4, 1, 3]);
    expect(await renderer.decode([4, 1])).toBe("hi </s>");
    expect(await renderer.encode("hi there")).toEqual([4, 5]);
    expect(asked.filter((url) => url.endsWith("tokenizer.json"))).toHaveLength(1);
  });

  test("templates get arguments as an object", async () => {
    const { fetch } = files({
      [`${AT}/tokenizer.json`]: JSON.stringify(tokenizer),
      [`${AT}/tokenizer_config.json`]: JSON.stringify({ ...config, chat_template: TEMPLATE }),
    });
    const renderer = await tokenizerRenderer({ tokenizerUrl: `${AT}/tokenizer.json`, fetch });
    const call = { id: "1", type: "function" as const, function: { name: "add", arguments: '{"a":1}' } };
    const chat: Message[] = [hi, { role: "assistant", content: "", tool_calls: [call] }];
    expect(await renderer.render(chat, { addGenerationPrompt: false })).toEqual([0, 2, 4, 1, 3, 6, 7, 1]);
  });

  test("a file that is missing is named", async () => {
    const { fetch } = files({});
    const loading = tokenizerRenderer({ tokenizerUrl: `${AT}/tokenizer.json`, fetch });
    await expect(loading).rejects.toThrow(/models\.test\/toy\/.* answered 404/);
  });

  test("a config that is there but can't be had is named, though there is a template", async () => {
    const { fetch } = files({ [`${AT}/tokenizer.json`]: JSON.stringify(tokenizer), [`${AT}/mine.jinja`]: TEMPLATE });
    const failing: Fetch = async (url, init) =>
      url.endsWith("tokenizer_config.json") ? new Response("", { status: 500 }) : fetch(url, init);
    const source = { tokenizerUrl: `${AT}/tokenizer.json`, templateUrl: `${AT}/mine.jinja`, fetch: failing };
    await expect(tokenizerRenderer(source)).rejects.toThrow("tokenizer_config.json answered 500");
  });

  test("the files may be in a bucket", async () => {
    const objects: Record<string, string> = {
      "toy/tokenizer.json": JSON.stringify(tokenizer),
      "toy/tokenizer_config.json": JSON.stringify({ ...config, chat_template: TEMPLATE }),
    };
    const DATA = { get: async (key: string) => ({ text: async () => objects[key] ?? "" }) };
    const load = (url: string) => tokenizerRenderer({ tokenizerUrl: url, fetch: fetchFrom({ DATA }) });
    expect(await (await load("r2://DATA/toy/tokenizer.json")).encode("hi there")).toEqual([4, 5]);
    await expect(load("r2://OTHER/tokenizer.json")).rejects.toThrow('binding = "OTHER"');
  });

  test("a load ends with its signal", async () => {
    const signal = AbortSignal.abort(new Error("over"));
    const loading = tokenizerRenderer({ tokenizerUrl: `${AT}/tokenizer.json`, signal });
    await expect(loading).rejects.toThrow("over");
  });
});
