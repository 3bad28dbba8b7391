import type { Endpoint } from "../../../src/wire/rollouts.ts";
import type { BaseConfig } from "../base-config.ts";
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
  /** Ends when the invocation is over. */
  readonly invocation: AbortSignal;
}

const keptTokenizer = remember<Renderer>();

/** Opens a lease's endpoint, to sample as the config says. @throws MissingSecretError, what `secretOf` throws, TypeError for a url that is none; Error for a tokenizer that can't be loaded */
export async function openPolicy(endpoint: Endpoint, options: PolicyOptions): Promise<Policy> {
  const { base, purpose, secretOf, fetch, limiter, underWay, signal, invocation } = options;
  const tokenizer = await tokenizerOf(base, invocation);
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

function tokenizerOf({ renderer }: BaseConfig, invocation: AbortSignal): Promise<Renderer> | undefined {
  if (renderer === "server") return undefined;
  const { tokenizer, template } = renderer;
  const source = { tokenizerUrl: tokenizer, templateUrl: template ?? undefined };
  return keptTokenizer(JSON.stringify(source), (own) => tokenizerRenderer({ ...source, signal: own }), invocation);
}
