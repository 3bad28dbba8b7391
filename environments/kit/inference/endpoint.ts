/** Whose wire an inference server speaks. */
export type Backend = "vllm" | "sglang" | "openai";

/** An inference server, in the shape a rollout lease names it. */
export interface Endpoint {
  readonly id: number;
  /** With or without /v1 at its end. */
  readonly url: string;
  /** The model's name, as the server knows it. */
  readonly model: string;
  readonly backend: Backend;
  /** NAME of the secret that holds its API key, never the value; null for none. */
  readonly secret: string | null;
  /** Requests at once. */
  readonly max_training_requests: number;
  readonly max_evaluation_requests: number;
}

/**
 * The address below which both `/v1/…` and the servers' own routes lie: no slash and no `/v1` at the end, no query.
 * @throws TypeError for what is no http(s) address, or one that holds a user or password (fetch refuses those, and quotes
 * them in its message).
 */
export function serverRoot(url: string): string {
  if (!URL.canParse(url)) throw new TypeError(`an endpoint's url is no address: ${JSON.stringify(url)}`);
  const { protocol, origin, pathname, username, password } = new URL(url);
  if (protocol !== "http:" && protocol !== "https:") {
    throw new TypeError(`an endpoint's url must begin with http:// or https://, not ${protocol}`);
  }
  if (username !== "" || password !== "") {
    throw new TypeError(`the endpoint at ${origin} has a user or password in its url: name a secret instead`);
  }
  return `${origin}${pathname}`.replace(/\/+$/, "").replace(/\/v1$/, "").replace(/\/+$/, "");
}

/** The API key of an endpoint isn't set where this code runs. */
export class MissingSecretError extends Error {
  override readonly name = "MissingSecretError";
  readonly secret: string;

  constructor(secret: string, endpoint: number) {
    super(
      `endpoint ${endpoint} needs the secret ${secret}, which this Worker doesn't have. ` +
        `Set it with: npx wrangler secret put ${secret} (locally: a line ${secret}=… in .dev.vars)`,
    );
    this.secret = secret;
  }
}
