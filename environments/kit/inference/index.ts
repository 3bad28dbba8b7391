export {
  type ChatCompletion,
  type ChatRequest,
  type Completion,
  type CompletionRequest,
  type FinishReason,
  NO_LOGPROB,
  type Sampling,
  type VersionSegment,
} from "./completion.ts";
export { type Backend, type Endpoint, MissingSecretError } from "./endpoint.ts";
export { InferenceError, type InferenceFault } from "./errors.ts";
export { type Inference, type InferenceOptions, openInference } from "./inference.ts";
export { type Purpose, RequestLimiter, type RequestLimits, type Ticket } from "./limiter.ts";
export type { ContentPart, Message, Tool, ToolCall } from "./messages.ts";
export { type Renderer, type RenderOptions, serverRenderer } from "./renderer.ts";
export { type TokenizerSource, tokenizerRenderer } from "./tokenizer-renderer.ts";
export type { Fetch } from "./transport.ts";
export { UnderWay } from "./under-way.ts";
export type { ChatPrompt } from "./wire/tokens.ts";
