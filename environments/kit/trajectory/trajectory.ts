import type { Completion, Inference, Message, Renderer, Sampling, Tool } from "../inference/index.ts";
import { continuation, type LastTurn, repeatsEnd } from "./continuation.ts";
import { endText } from "./end-text.ts";
import { type Generation, generationOf, type Rollout } from "./rollout.ts";
import { type Sequence, SequenceBuilder } from "./sequence.ts";
import type { ToolCallParser } from "./tool-calls.ts";

export interface TrajectoryOptions {
  readonly inference: Inference;
  readonly renderer: Renderer;
  readonly messages?: readonly Message[] | undefined;
  readonly tools?: readonly Tool[] | undefined;
  /** Default: a turn's text is its content, and it has no tool calls. */
  readonly parseToolCalls?: ToolCallParser | undefined;
  /**
   * What later renderings show of a turn with tool calls: the calls that were parsed, for the template to print (the
   * default), or the turn's own text. The text forks less, but some templates need the calls.
   */
  readonly renderToolCalls?: "parsed" | "text" | undefined;
  /** Tokens that end a turn, where the model has several. */
  readonly endTokenIds?: readonly number[] | undefined;
}

export interface TurnOptions extends Sampling {
  readonly skipSpecialTokens?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
}

/** A sampled turn. */
export interface Turn extends Completion {
  /** As it stands in the chat now. */
  readonly message: Message;
  /** Whether a new sequence began with it, because its rendered prompt didn't extend the one before. */
  readonly forked: boolean;
}

interface OpenSequence {
  readonly builder: SequenceBuilder;
  readonly last: LastTurn;
  /** Messages up to its last turn. */
  readonly messages: number;
}

/**
 * One episode: a chat, and the training sequences it leaves. Ids and logprobs are those of the server that sampled them, and
 * nothing that was sampled is ever tokenized again: a later turn's prompt is the earlier ids, verbatim, and what the template
 * adds. Where the newly rendered chat doesn't extend them (a template that drops earlier thoughts, text that tokenizes
 * otherwise than it was sampled) the sequence forks: a new one begins with the new rendering, the old one stays.
 *
 * @example
 * const trajectory = new Trajectory({ inference, renderer, messages: [{ role: "user", content: "…" }] });
 * const turn = await trajectory.turn({ maxTokens: 512, temperature: 1 });
 * trajectory.addMessage({ role: "user", content: "…" });
 */
export class Trajectory {
  readonly #options: TrajectoryOptions;
  readonly #endTokens: ReadonlySet<number>;
  readonly #messages: Message[] = [];
  /** As #messages, in the form templates get them. */
  readonly #rendered: Message[] = [];
  readonly #closed: Sequence[] = [];
  #open: OpenSequence | null = null;
  #turns = 0;
  #text = "";
  #generation: Generation | null = null;
  #busy = false;

  constructor(options: TrajectoryOptions) {
    this.#options = options;
    this.#endTokens = new Set(options.endTokenIds);
    this.addMessages(options.messages ?? []);
  }

  get messages(): readonly Message[] {
    return this.#messages;
  }

  /** Ids of the open sequence, prompts included. */
  get tokenCount(): number {
    return this.#open?.builder.tokens.length ?? 0;
  }

  /**
   * Adds a message nobody sampled here: a user's, a tool's. Its tokens are not trained on.
   * @throws Error while a turn is under way: it would land before that turn
   */
  addMessage(message: Message): void {
    if (this.#busy) throw new Error("add messages after the turn under way, not during it");
    this.#messages.push(message);
    this.#rendered.push(message);
  }

  addMessages(messages: readonly Message[]): void {
    for (const message of messages) this.addMessage(message);
  }

  /**
   * Samples the assistant's next turn and adds it to the chat. When it throws, the trajectory is as it was.
   * @throws InferenceError; Error when another turn is under way
   */
  async turn(options: TurnOptions): Promise<Turn> {
    if (this.#busy) throw new Error("a trajectory samples one turn at a time: await the one before");
    this.#busy = true;
    try {
      const { inference, renderer, tools } = this.#options;
      const rendering = await renderer.render(this.#rendered, { tools, addGenerationPrompt: true });
      const suffix = this.#open === null ? null : await this.#suffix(rendering, this.#open.last);
      const prompt = this.#open === null || suffix === null ? rendering : [...this.#open.builder.tokens, ...suffix];
      const messages = tools === undefined || tools.length === 0 ? [...this.#messages] : undefined;
      const [completion] = await inference.complete({ ...options, prompt, n: 1, keepStop: true, messages });
      if (completion === undefined) throw new Error("the inference client gave no completion");
      const last = { rendering, sampled: completion.tokens, end: sampledEnd(completion, options) };
      return this.#add(completion, await this.#content(completion.text, last), last, suffix, options);
    } finally {
      this.#busy = false;
    }
  }

  /** The sequences so far, in the order they began. Each ends with a sampled turn. */
  get sequences(): Sequence[] {
    return this.#open === null ? [...this.#closed] : [...this.#closed, this.#build(this.#open)];
  }

  /** @throws Error before the first turn */
  rollout(): Rollout {
    const { sequences } = this;
    const last = sequences.at(-1);
    if (last === undefined || this.#generation === null) throw new Error("a trajectory without a turn is no rollout");
    const { finishReason } = last;
    return { sequences, messages: [...this.#messages], text: this.#text, finishReason, generation: this.#generation };
  }

  /** What the rendering adds to the ids so far; null where it doesn't extend them. */
  async #suffix(rendering: readonly number[], last: LastTurn): Promise<number[] | null> {
    const found = continuation(rendering, last, this.#endTokens);
    if (found.kind === "fork") return null;
    if (found.kind === "extends") return found.suffix;
    const turnOnly = await this.#renderTurn(this.#rendered.slice(0, this.#open?.messages));
    return repeatsEnd(turnOnly, last) ? found.suffix.slice(1) : found.suffix;
  }

  /** A turn's text without its end token's, which servers may leave there: the template would write it a second time. */
  async #content(text: string, last: LastTurn): Promise<string> {
    if (last.end === null) return text;
    const end = await endText(this.#options.renderer, last.end);
    if (end === "" || !text.endsWith(end)) return text;
    // Only if the template writes one by itself: an empty turn shows that.
    const empty = await this.#renderTurn([...this.#rendered, { role: "assistant", content: "" }]);
    return count(empty, last.end) > count(last.rendering, last.end) ? text.slice(0, -end.length) : text;
  }

  #renderTurn(upToTurn: readonly Message[]): Promise<number[]> {
    const { renderer, tools } = this.#options;
    return renderer.render(upToTurn, { tools, addGenerationPrompt: false });
  }

  #add(completion: Completion, content: string, last: LastTurn, suffix: number[] | null, options: TurnOptions): Turn {
    // First, as it may throw: nothing has changed yet.
    const message = this.#message(content);
    const forked = this.#open !== null && suffix === null;
    if (forked && this.#open !== null) this.#closed.push(this.#build(this.#open));
    const builder = (suffix === null ? undefined : this.#open?.builder) ?? new SequenceBuilder();
    builder.addPrompt(suffix ?? last.rendering);
    builder.addSampled(completion);
    this.#messages.push(message);
    const asText = this.#options.renderToolCalls === "text";
    this.#rendered.push(asText ? { role: "assistant", content } : message);
    this.#turns++;
    this.#open = { builder, last, messages: this.#messages.length };
    this.#text = completion.text;
    this.#generation = generationOf(this.#options.inference, options);
    return { ...completion, message, forked };
  }

  #message(text: string): Message {
    const { content, toolCalls } = this.#options.parseToolCalls?.(text, this.#turns) ?? {
      content: text,
      toolCalls: [],
    };
    if (toolCalls.length === 0) return { role: "assistant", content: text };
    return { role: "assistant", content, tool_calls: toolCalls };
  }

  #build({ builder, messages }: OpenSequence): Sequence {
    return builder.build(this.#messages.slice(0, messages));
  }
}

/** Servers stop at an end token, which is then the last id, or at a stop string, which the text then ends with. */
function sampledEnd({ tokens, finishReason, text, exact }: Completion, { stop = [] }: TurnOptions): number | null {
  if (!exact || finishReason !== "stop" || stop.some((one) => text.endsWith(one))) return null;
  return tokens.at(-1) ?? null;
}

function count(ids: readonly number[], wanted: number): number {
  return ids.reduce((sum, id) => (id === wanted ? sum + 1 : sum), 0);
}
