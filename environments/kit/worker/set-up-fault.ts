import { MAX_ATTEMPTS } from "./attempts.ts";
import type { Bindings } from "./bindings.ts";
import { descriptor } from "./descriptor.ts";
import { wasAnswered } from "./failure.ts";
import type { QueuedMessage } from "./platform.ts";

/** So that the set-up can be mended before the lease expires, which lasts ten minutes unless told otherwise. */
const DELAY_SECONDS = 300;

/**
 * Settles the messages that a wrong set-up leaves nobody to work on: they wait, and their leases with them, whose failures are
 * counted as `setup`. After the last delivery a lease is left to expire, so that its item is leased again once the set-up is
 * right. Never throws.
 * @param bindings null when these are what is wrong: then nothing can be told to the run
 */
export async function waitForSetUp(
  messages: readonly QueuedMessage[],
  bindings: Pick<Bindings, "client" | "run"> | null,
  message: string,
): Promise<void> {
  await Promise.all(
    messages.map(async (queued) => {
      const over = bindings !== null && (await report(queued, bindings, message));
      if (over || queued.attempts >= MAX_ATTEMPTS) queued.ack();
      else queued.retry({ delaySeconds: DELAY_SECONDS });
    }),
  );
}

/** Whether the message's lease is over. */
async function report(
  { body }: QueuedMessage,
  { client, run }: Pick<Bindings, "client" | "run">,
  message: string,
): Promise<boolean> {
  const read = descriptor.safeParse(body);
  if (!read.success || read.data.run !== run) return false;
  try {
    const failure = { reason: "setup", message };
    return (await client.renew(read.data.lease.lease_id, { failure })).status === "closed";
  } catch (error) {
    // The set-up's fault is in the log; this one would only follow it.
    return wasAnswered(error, 404, 410);
  }
}
