import type { Bindings } from "./bindings.ts";
import { descriptor } from "./descriptor.ts";
import type { QueuedMessage } from "./platform.ts";

/**
 * Settles the messages that a wrong set-up leaves nobody to work on. Their leases' failures are counted as `setup`, and the
 * leases left to expire, so that their items are leased again once the set-up is right. No message is delivered again: its
 * deliveries are for real failures. Never throws.
 * @param bindings null when these are what is wrong: then nothing can be told to the run
 */
export async function leaveForSetUp(
  messages: readonly QueuedMessage[],
  bindings: Pick<Bindings, "client" | "run"> | null,
  message: string,
): Promise<void> {
  await Promise.all(
    messages.map(async (queued) => {
      if (bindings !== null) await report(queued, bindings, message);
      queued.ack();
    }),
  );
}

async function report(
  { body }: QueuedMessage,
  { client, run }: Pick<Bindings, "client" | "run">,
  message: string,
): Promise<void> {
  const read = descriptor.safeParse(body);
  if (!read.success || read.data.run !== run) return;
  // The set-up's fault is in the log; one of the report would only follow it.
  await client.renew(read.data.lease.lease_id, { failure: { reason: "setup", message } }).catch(() => null);
}
