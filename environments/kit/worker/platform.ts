/**
 * The parts of the platform's types that the kit uses, so that it also runs, and type checks, in plain Node. The generated
 * `env.d.ts` of an environment has the real ones, which fit these.
 */

export interface Service {
  fetch(request: Request): Promise<Response>;
}

export interface QueueProducer {
  sendBatch(messages: Iterable<{ body: unknown; contentType?: "json" }>): Promise<unknown>;
}

export interface QueuedMessage {
  readonly body: unknown;
  /** 1 for the first delivery. */
  readonly attempts: number;
  ack(): void;
  retry(options?: { delaySeconds?: number }): void;
}

export interface QueuedBatch {
  readonly messages: readonly QueuedMessage[];
}

/** The variables and bindings that every environment's wrangler.toml has. */
export interface EnvironmentEnv {
  readonly ROLLOUTS: QueueProducer;
  readonly LACHESIS?: Service;
  readonly RUN: string;
  readonly PRESET: string;
  readonly CONFIG: string;
}
