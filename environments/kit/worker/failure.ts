import { ClientError } from "../../../src/client/client.ts";
import { InferenceError, MissingSecretError } from "../inference/index.ts";

/** What a group was at when it failed. */
export type Stage = "item" | "rollout" | "score" | "state" | "submit" | "timeout" | "evaluate" | "internal";

/** Longest message kept, in characters. */
const MESSAGE_LENGTH = 1_000;

/** Why an attempt at a lease came to nothing, in the words that are counted. */
export class Failure extends Error {
  override readonly name = "Failure";
  /** A stage, or `inference_` and an InferenceError's reason. */
  readonly reason: string;
  /** Whether the inference endpoint is to blame: then the next attempt gets another one. */
  readonly endpointFault: boolean;

  constructor(
    reason: string,
    message: string,
    { endpointFault = false, cause }: { endpointFault?: boolean; cause?: unknown } = {},
  ) {
    super(message.slice(0, MESSAGE_LENGTH), { cause });
    this.reason = reason;
    this.endpointFault = endpointFault;
  }
}

/** The failure that an error at a stage is. */
export function failureAt(stage: Stage, error: unknown): Failure {
  if (error instanceof Failure) return error;
  if (error instanceof InferenceError) {
    const { reason, message, endpointFault } = error;
    return new Failure(`inference_${reason}`, message, { endpointFault, cause: error });
  }
  if (error instanceof MissingSecretError) return new Failure("inference_secret", error.message, { cause: error });
  const message =
    error instanceof Error ? `${error.name === "Error" ? "" : `${error.name}: `}${error.message}` : String(error);
  return new Failure(stage, message, { cause: error });
}

/** Runs a stage, whose errors become its failures. */
export async function during<T>(stage: Stage, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw failureAt(stage, error);
  }
}

/** Whether the API answered with one of these statuses. */
export function wasAnswered(error: unknown, ...statuses: readonly number[]): error is ClientError {
  return error instanceof ClientError && statuses.includes(error.status);
}

/** What to do about an error of the API, in words. */
export function adviceFor(error: unknown): string {
  if (!(error instanceof ClientError)) return "this is a fault of the environment's code or of the kit";
  switch (error.status) {
    case 0:
      return "is the API Worker deployed, and does the service binding LACHESIS (or the variable LACHESIS_URL) name it?";
    case 200:
      return "the service binding LACHESIS or the variable LACHESIS_URL names another Worker than the API, or one of another version";
    case 401:
      return "set the secret LACHESIS_TOKEN to a token that the API's AUTH_SECRET signs, for the run that RUN names: AUTH_SECRET=… npx lachesis token --role environment --run NAME";
    case 403:
      return "the token in LACHESIS_TOKEN is for another run, or its role is not environment; see the variable RUN";
    case 404:
      return "the API at LACHESIS or LACHESIS_URL doesn't know this route: deploy the API Worker of the same version";
    case 422:
      return "the API refuses what this environment sent; the text names the field";
    default:
      return "this passes by itself, or the API Worker's own log says more";
  }
}
