import { listenFault } from "../cli/listening.ts";
import { USAGE_EXIT_CODE } from "../cli/run-command.ts";
import { UsageError } from "../cli/usage-error.ts";
import { Client, ClientError } from "../src/client/client.ts";
import { startInferenceServer } from "./inference/index.ts";
import { BACKOFF, untilThere } from "./loop/away.ts";
import { CheckpointError } from "./loop/checkpoint.ts";
import { eventText, type LoopEvent } from "./loop/events.ts";
import { train } from "./loop/loop.ts";
import { HELP, readTrainerOptions, type TrainerOptions } from "./options.ts";
import { createPolicy } from "./policy/index.ts";
import { TinyLearner } from "./tiny-learner.ts";

/** The name the policy is served under. */
const MODEL = "tiny";

type TrainerEvent =
  | LoopEvent
  | { readonly event: "serving"; readonly url: string }
  /** The policy's address is known to the run, and nobody here will register. */
  | { readonly event: "published" };

/** Events as lines of JSON; what is no step also in words, for a person. */
function tell(event: TrainerEvent): void {
  process.stdout.write(`${JSON.stringify(event)}\n`);
  if (event.event === "serving") console.error(`the policy is served at ${event.url}`);
  else if (event.event === "published") console.error("its address is published; it isn't trained here");
  else if (event.event !== "step") console.error(eventText(event));
}

async function main(options: TrainerOptions): Promise<void> {
  const stop = new AbortController();
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => stop.abort());
  const policy = createPolicy({ seed: options.seed });
  const server = await startInferenceServer({
    policy,
    host: options.host,
    port: options.port,
    model: MODEL,
    seed: options.seed,
  }).catch((error: unknown) => {
    throw listenFault(error, options) ?? error;
  });
  tell({ event: "serving", url: server.url });
  const endpoints = [{ url: options.publicUrl ?? server.url, model: MODEL }];
  const client = new Client({
    url: `${options.url}/runs/${options.run}`,
    token: options.token,
    attempts: 2,
    // Whoever stops the trainer doesn't wait for a server that is away.
    signal: stop.signal,
  });
  try {
    if (options.serveOnly) {
      const events = {
        onAway: (message: string, seconds: number) => tell({ event: "away", message, retry_in_seconds: seconds }),
        onBack: (seconds: number) => tell({ event: "back", away_seconds: seconds }),
      };
      await untilThere(() => client.publish({ endpoints }), events, BACKOFF, stop.signal);
      tell({ event: "published" });
      await new Promise((resolve) => stop.signal.addEventListener("abort", resolve, { once: true }));
      return;
    }
    await train({
      ...options,
      client,
      maxTokenLength: Math.min(options.maxTokenLength, policy.config.maxLength),
      learner: new TinyLearner(policy, { seed: options.seed, learningRate: options.learningRate }),
      endpoints,
      onEvent: tell,
      signal: stop.signal,
    });
  } catch (error) {
    if (!stop.signal.aborted) throw error;
  } finally {
    await server.close();
  }
}

/** What to say of an error, or null for a fault of this program. */
function explain(error: unknown, { url, run }: Pick<TrainerOptions, "url" | "run">): string | null {
  if (error instanceof CheckpointError) return error.message;
  if (!(error instanceof ClientError)) return null;
  if (error.status >= 200 && error.status < 300) return `at ${url}: ${error.message}`;
  if (error.status !== 401 && error.status !== 403) return `${url} refused: ${error.message}`;
  return (
    `${url} doesn't let this trainer into the run ${run} (${error.message}): set LACHESIS_TOKEN to a token of role trainer, ` +
    `from: npx lachesis token --role trainer --run ${run}`
  );
}

let options: TrainerOptions | null = null;
try {
  options = readTrainerOptions(process.argv.slice(2), process.env["LACHESIS_TOKEN"]);
  if (options === null) console.log(HELP);
  else await main(options);
} catch (error) {
  const message = error instanceof UsageError ? error.message : options === null ? null : explain(error, options);
  console.error(message ?? error);
  process.exitCode = message === null ? 1 : USAGE_EXIT_CODE;
}
// Whatever is open still, a request that broke off for instance, has nothing to say any more.
process.exit();
