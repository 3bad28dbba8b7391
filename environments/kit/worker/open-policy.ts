import type { Endpoint } from "../../../src/wire/rollouts.ts";
import type { BaseConfig } from "../base-config.ts";
import { fetchFrom } from "../bucket.ts";
import {
  type Fetch,
  type Inference,
  openInference,
  type Purpose,
  type Renderer,
  type RequestLimiter,
  serverRenderer,
  tokenizerRenderer,
  type UnderWay,
} from "../inference/index.ts";
import { Policy } from "../policy.ts";
import { remember } from "../remember.ts";

export interface PolicyOptions {
  readonly base: BaseConfig;
  readonly purpose: Purpose;
  readonly secretOf: (name: string) => string | undefined;
  readonly fetch?: Fetch | undefined;
  readonly limiter: RequestLimiter;
  readonly underWay: UnderWay;
  readonly signal: AbortSignal;
  /** The Worker's bindings, by name: where a tokenizer's bucket is. */
  readonly env: Readonly<Record<string, unknown>>;
  /** Ends when the invocation is over. */
  readonly invocation: AbortSignal;
}

const keptTokenizer = remember<Renderer>();

/** Opens a lease's endpoint, to sample as the config says. @throws MissingSecretError, what `secretOf` throws, TypeError for a url that is none; Error for a tokenizer that can't be loaded */
export async function openPolicy(endpoint: Endpoint, options: PolicyOptions): Promise<Policy> {
  const { base, purpose, secretOf, fetch, limiter, underWay, signal } = options;
  const tokenizer = await tokenizerOf(options);
  const inference: Inference = openInference(endpoint, {
    purpose,
    secretOf,
    fetch,
    limiter,
    underWay,
    signal,
    tokenizer,
  });
  const temperature = purpose === "evaluation" ? base.eval_temperature : base.temperature;
  const sampling = { maxTokens: base.max_tokens, temperature, topP: base.top_p, signal };
  return new Policy(inference, tokenizer ?? serverRenderer(inference), sampling);
}

function tokenizerOf({ base, env, invocation }: PolicyOptions): Promise<Renderer> | undefined {
  const { renderer } = base;
  if (renderer === "server") return undefined;
  const { tokenizer, template } = renderer;
  const source = { tokenizerUrl: tokenizer, templateUrl: template ?? undefined };
  const load = (signal: AbortSignal) => tokenizerRenderer({ ...source, signal, fetch: fetchFrom(env) });
  return keptTokenizer(JSON.stringify(source), load, invocation);
}
