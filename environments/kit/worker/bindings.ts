import { z } from "zod";
import { AddressError, readAddress } from "../../../src/client/address.ts";
import { Client } from "../../../src/client/client.ts";
import { DEFAULT_RUN, runName } from "../../../src/wire/names.ts";
import { INFERENCE_SECRET } from "../../../src/wire/rollouts.ts";
import { Failure } from "./failure.ts";
import type { QueueProducer, Service } from "./platform.ts";

/** A host is needed to make a request, but a service binding goes to its Worker whatever the host. */
const SERVICE_URL = "https://lachesis";

/** What the environment's own code is not given: with it anybody could act as the environment. */
const OWN_CREDENTIALS = new Set(["LACHESIS_TOKEN", "LACHESIS_URL"]);

const service = z.custom<Service>((value) => hasMethod(value, "fetch"), "is no service binding");
const queue = z.custom<QueueProducer>((value) => hasMethod(value, "sendBatch"), "is no queue");
const optionalText = z
  .string()
  .optional()
  .transform((text) => text?.trim() || undefined);

const schema = z.object({
  LACHESIS: service.optional(),
  LACHESIS_URL: optionalText.pipe(z.url({ protocol: /^https?$/, error: "is no http or https address" }).optional()),
  LACHESIS_TOKEN: optionalText,
  RUN: optionalText.pipe(runName.default(DEFAULT_RUN)),
  ROLLOUTS: queue.optional(),
  PRESET: optionalText,
  CONFIG: optionalText,
});

/** An environment's Worker is not set up right. The message names variable or binding, and what to do. */
export class SetupError extends Error {
  override readonly name = "SetupError";
}

/** What the Worker was given, checked. */
export interface Bindings {
  readonly run: string;
  readonly preset: string | undefined;
  readonly config: string | undefined;
  readonly client: Client;
  /** @throws SetupError when there is none. */
  queue(): QueueProducer;
  /** A secret that an endpoint names. @throws Failure `inference_secret` for a name that no endpoint may give */
  endpointSecret(name: string): string | undefined;
  /** By name, without the API's address and token: an R2 bucket, for instance. */
  readonly forEnvironment: Readonly<Record<string, unknown>>;
}

/**
 * Reads variables, secrets and bindings.
 * @throws SetupError
 */
export function readBindings(env: unknown): Bindings {
  const all: Readonly<Record<string, unknown>> = { ...Object(env) };
  const read = schema.safeParse(all);
  if (!read.success) throw new SetupError(read.error.issues.map((issue) => explain(issue, all)).join("; "));
  const { LACHESIS, LACHESIS_URL, LACHESIS_TOKEN, RUN, ROLLOUTS, PRESET, CONFIG } = read.data;
  const root = LACHESIS_URL ?? (LACHESIS === undefined ? undefined : SERVICE_URL);
  if (root === undefined) {
    throw new SetupError(
      "nothing says where the API is: add the service binding LACHESIS to wrangler.toml " +
        '([[services]] binding = "LACHESIS", service = "lachesis"), or set the variable LACHESIS_URL to its address',
    );
  }
  // With an address that is right, so that what is wrong then is the token.
  naming("LACHESIS_TOKEN", () => readAddress(SERVICE_URL, LACHESIS_TOKEN));
  naming("LACHESIS_URL", () => readAddress(root, LACHESIS_TOKEN));
  return {
    run: RUN,
    preset: PRESET,
    config: CONFIG,
    client: new Client({
      url: `${root.replace(/\/+$/, "")}/runs/${RUN}`,
      token: LACHESIS_TOKEN,
      // The address wins: it is set to reach an API elsewhere, and the binding stays in wrangler.toml.
      fetch: LACHESIS_URL === undefined && LACHESIS !== undefined ? (request) => LACHESIS.fetch(request) : undefined,
    }),
    queue: () => {
      if (ROLLOUTS !== undefined) return ROLLOUTS;
      throw new SetupError(
        'the queue ROLLOUTS is missing: add [[queues.producers]] with binding = "ROLLOUTS" to wrangler.toml, and make ' +
          "the queue with: npx wrangler queues create NAME",
      );
    },
    endpointSecret: (name) => {
      if (!INFERENCE_SECRET.test(name)) throw refusedSecret(name);
      const value = all[name];
      return typeof value === "string" && value !== "" ? value : undefined;
    },
    forEnvironment: Object.fromEntries(Object.entries(all).filter(([name]) => !OWN_CREDENTIALS.has(name))),
  };
}

/** @throws SetupError for an AddressError, with the variable at fault */
function naming(name: string, read: () => unknown): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof AddressError)) throw error;
    throw new SetupError(`${name}: ${error.message}; ${whereToSet(name)}`);
  }
}

function whereToSet(name: string): string {
  if (name === "LACHESIS_TOKEN") return "set it with: npx wrangler secret put LACHESIS_TOKEN";
  return "set it in the environment's wrangler.toml";
}

function refusedSecret(name: string): Failure {
  return new Failure(
    "inference_secret",
    `the endpoint names the secret ${JSON.stringify(name)}, but gets only secrets whose names begin with INFERENCE_ and go on in ` +
      "capitals, digits and underscores, so that no endpoint can ask for another one: set the key under such a name " +
      "(npx wrangler secret put INFERENCE_KEY) and publish the endpoint with it",
  );
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof value === "object" && value !== null && typeof Reflect.get(value, name) === "function";
}

/** Values are shown for variables alone: a binding has none, and a token, or an address that may hold one, must not be. */
function explain({ path, message }: z.core.$ZodIssue, all: Readonly<Record<string, unknown>>): string {
  const name = String(path[0]);
  const value = all[name];
  const shown = typeof value === "string" && !OWN_CREDENTIALS.has(name) ? ` is ${JSON.stringify(value)}:` : "";
  return `${name}${shown} ${message}; ${whereToSet(name)}`;
}
