import { newEndpoint } from "../../src/wire/rollouts.ts";
import { wholeNumber } from "../options.ts";
import { quote } from "../quote.ts";
import { UsageError } from "../usage-error.ts";
import type { GivenOptions } from "./options.ts";

export const BACKENDS = ["vllm", "sglang", "openai"] as const;
type Backend = (typeof BACKENDS)[number];

/** Who generates the rollouts, and whether somebody trains on them. */
export type Generation =
  /** The API alone. */
  | { readonly kind: "none" }
  /** The tiny policy, which the reference trainer teaches. */
  | {
      readonly kind: "reference";
      /** Null for no end. */
      readonly steps: number | null;
      readonly seed: number;
      readonly learningRate: string | null;
      readonly batchSize: number;
    }
  /** The tiny policy as it is. */
  | { readonly kind: "serve-only"; readonly seed: number }
  /** Another inference server. */
  | {
      readonly kind: "endpoint";
      readonly url: string;
      readonly model: string;
      readonly backend: Backend;
      readonly secret: { readonly name: string; readonly value: string } | null;
    };

const DEFAULT_BATCH_SIZE = 64;
const MAX_STEPS = 1_000_000_000;

/** Options that mean something to the reference trainer alone. */
const TRAINING = ["steps", "learning-rate", "batch-size", "json"] as const;
const ENDPOINT = ["model", "backend", "inference-secret"] as const;
const GENERATING = ["environment", "config", "preset", "group-size", "no-trainer", "inference", "seed"] as const;

/** @throws UsageError that names an option which is wrong, or doesn't go with another. */
export function readGeneration(
  options: GivenOptions,
  secrets: Readonly<Record<string, string | undefined>>,
): Generation {
  if (options["api-only"]) {
    refuse(options, [...GENERATING, ...ENDPOINT, ...TRAINING], "--api-only runs nothing that it is for");
    return { kind: "none" };
  }
  if (options.inference !== undefined) {
    const why = "with --inference there is no reference trainer, for it can only train its own policy";
    refuse(options, TRAINING, why);
    return endpoint(options, options.inference, secrets);
  }
  refuse(options, ENDPOINT, "it is for --inference URL, which is missing");
  const seed = wholeNumber("--seed", options.seed ?? "0", 0, 2 ** 31 - 1);
  if (options["no-trainer"]) {
    refuse(options, TRAINING, "with --no-trainer there is no reference trainer");
    return { kind: "serve-only", seed };
  }
  return {
    kind: "reference",
    steps: options.steps === undefined ? null : wholeNumber("--steps", options.steps, 1, MAX_STEPS),
    seed,
    learningRate: options["learning-rate"] === undefined ? null : learningRate(options["learning-rate"]),
    batchSize: wholeNumber("--batch-size", options["batch-size"] ?? `${DEFAULT_BATCH_SIZE}`, 1, 65_536),
  };
}

function refuse(options: GivenOptions, names: readonly (keyof GivenOptions)[], why: string): void {
  const found = names.find((name) => options[name] !== undefined && options[name] !== false);
  if (found !== undefined) throw new UsageError(`--${found} can't be given: ${why}`);
}

function endpoint(
  options: GivenOptions,
  url: string,
  secrets: Readonly<Record<string, string | undefined>>,
): Generation {
  if (options.model === undefined) throw new UsageError("--model is missing: name the model as the server knows it");
  const backend = BACKENDS.find((name) => name === (options.backend ?? "vllm"));
  if (backend === undefined) {
    throw new UsageError(`--backend is ${quote(options.backend ?? "")}; give one of ${BACKENDS.join(", ")}`);
  }
  const name = options["inference-secret"] ?? null;
  const read = newEndpoint.safeParse({ url, model: options.model, backend, secret: name });
  // The API would refuse it once all is up. Neither address nor name is repeated: an API key may have been put there.
  if (!read.success) throw new UsageError(read.error.issues.map(endpointFault).join("\n"));
  const common = { kind: "endpoint" as const, url: read.data.url, model: read.data.model, backend };
  if (name === null) return { ...common, secret: null };
  const value = secrets[name];
  if (value === undefined || value === "") {
    throw new UsageError("--inference-secret must name an environment variable that is set and holds the API key");
  }
  return { ...common, secret: { name, value } };
}

/** Which option gives which field of an endpoint. */
const ENDPOINT_OPTIONS: Readonly<Record<string, string>> = { url: "--inference", secret: "--inference-secret" };

function endpointFault({ path, message }: { readonly path: readonly PropertyKey[]; readonly message: string }): string {
  const field = String(path[0]);
  return `${ENDPOINT_OPTIONS[field] ?? `--${field}`} can't be used: ${message}`;
}

function learningRate(text: string): string {
  const value = Number(text);
  if (text.trim() !== "" && value >= 0 && value <= 1) return text;
  throw new UsageError(`--learning-rate is ${quote(text)}; give a number from 0 (which trains nothing) to 1`);
}
