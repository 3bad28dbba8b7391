import { z } from "zod";
import type { Message } from "./messages.ts";
import type { Renderer } from "./renderer.ts";
import type { Fetch } from "./transport.ts";

export interface TokenizerSource {
  /** A tokenizer.json. */
  readonly tokenizerUrl: string;
  /** Its tokenizer_config.json; default: the file beside tokenizer.json, which need not be there if a template is named. */
  readonly configUrl?: string | undefined;
  /** A chat template (Jinja); default: the config's `chat_template`, else chat_template.jinja beside it. */
  readonly templateUrl?: string | undefined;
  readonly fetch?: Fetch | undefined;
  /** Ends the load. */
  readonly signal?: AbortSignal | undefined;
}

const namedToken = z.union([z.string(), z.looseObject({ content: z.string() }).transform(({ content }) => content)]);
const named = z.array(z.looseObject({ name: z.string(), template: z.string() }));
const configFile = z.looseObject({
  chat_template: z.union([z.string(), named]).nullish(),
  bos_token: namedToken.nullish(),
  eos_token: namedToken.nullish(),
});
type Config = z.infer<typeof configFile>;

interface Loaded {
  readonly encode: (text: string) => number[];
  readonly decode: (tokens: readonly number[]) => string;
  readonly template: (values: Record<string, unknown>) => string;
  readonly config: Config;
}

/**
 * Loads a tokenizer the user names, to render here. What it gives holds nothing that is under way, so it may be kept.
 * @throws Error naming the file that can't be had
 */
export async function tokenizerRenderer(source: TokenizerSource): Promise<Renderer> {
  const { template, encode, decode, config } = await load(source);
  return {
    async render(messages, { tools, addGenerationPrompt }) {
      const text = template({
        messages: messages.map(forTemplate),
        tools: tools === undefined || tools.length === 0 ? null : tools,
        add_generation_prompt: addGenerationPrompt,
        bos_token: config.bos_token ?? "",
        eos_token: config.eos_token ?? "",
      });
      return encode(text);
    },
    decode: async (tokens) => decode(tokens),
    encode: async (text) => encode(text),
  };
}

async function load({
  tokenizerUrl,
  configUrl,
  templateUrl,
  fetch: send = (url, init) => fetch(url, init),
  signal,
}: TokenizerSource): Promise<Loaded> {
  const get: Fetch = (url, init) => send(url, signal === undefined ? init : { ...init, signal });
  const beside = (name: string) => new URL(name, tokenizerUrl).href;
  const [{ Tokenizer }, { Template }, tokenizerJson, configJson] = await Promise.all([
    import("@huggingface/tokenizers"),
    import("@huggingface/jinja"),
    file(get, tokenizerUrl).then(JSON.parse),
    configUrl === undefined && templateUrl !== undefined
      ? fileIfThere(get, beside("tokenizer_config.json")).then((text) => JSON.parse(text ?? "{}"))
      : file(get, configUrl ?? beside("tokenizer_config.json")).then(JSON.parse),
  ]);
  const config = configFile.parse(configJson);
  const written = templateUrl === undefined ? defaultTemplate(config) : await file(get, templateUrl);
  const template = new Template(written ?? (await file(get, beside("chat_template.jinja"))));
  const tokenizer = new Tokenizer(tokenizerJson, configJson);
  return {
    // The template has written the special tokens.
    encode: (text) => tokenizer.encode(text, { add_special_tokens: false }).ids,
    decode: (tokens) =>
      tokenizer.decode([...tokens], { skip_special_tokens: false, clean_up_tokenization_spaces: false }),
    template: (values) => template.render(values),
    config,
  };
}

function defaultTemplate({ chat_template }: Config): string | undefined {
  if (chat_template === undefined || chat_template === null || typeof chat_template === "string") {
    return chat_template ?? undefined;
  }
  return (chat_template.find(({ name }) => name === "default") ?? chat_template[0])?.template;
}

class FileError extends Error {
  readonly status: number;

  constructor(url: string, status: number) {
    super(`${url} answered ${status}: the tokenizer can't be loaded`);
    this.status = status;
  }
}

async function file(get: Fetch, url: string): Promise<string> {
  const response = await get(url, { method: "GET" });
  if (!response.ok) throw new FileError(url, response.status);
  return response.text();
}

/** Null for a file that isn't there; stores that list nothing to strangers answer 403 for those. */
async function fileIfThere(get: Fetch, url: string): Promise<string | null> {
  try {
    return await file(get, url);
  } catch (error) {
    if (error instanceof FileError && [403, 404, 410].includes(error.status)) return null;
    throw error;
  }
}

/** Templates print arguments with `tojson`: they want the object, as the servers give it, not its text. */
function forTemplate(message: Message): Record<string, unknown> {
  if (message.tool_calls === undefined) return { ...message };
  return {
    ...message,
    tool_calls: message.tool_calls.map((call) => ({
      ...call,
      function: { ...call.function, arguments: parsedOr(call.function.arguments) },
    })),
  };
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
