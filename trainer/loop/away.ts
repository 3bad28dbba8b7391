import { ClientError } from "../../src/client/client.ts";

/** How long to wait for a server that is away, in milliseconds: twice as long each time. */
export interface Backoff {
  readonly first: number;
  readonly longest: number;
}

export const BACKOFF: Backoff = { first: 500, longest: 15_000 };

/** Whether a request failed because the server, or the way to it, is away for now. */
export function isAway(error: unknown): error is ClientError {
  return error instanceof ClientError && (error.status === 0 || error.status === 429 || error.status >= 500);
}

export interface AwayEvents {
  /** The server is away, for the `attempt`-th time in a row. */
  readonly onAway: (message: string, retryInSeconds: number) => void;
  readonly onBack: (awaySeconds: number) => void;
}

/** Does `request`, again and again for as long as the server is away. Other errors are thrown. */
export async function untilThere<T>(
  request: () => Promise<T>,
  { onAway, onBack }: AwayEvents,
  { first, longest }: Backoff,
  signal?: AbortSignal,
): Promise<T> {
  const started = performance.now();
  for (let attempt = 0; ; attempt++) {
    try {
      const answer = await request();
      if (attempt > 0) onBack((performance.now() - started) / 1000);
      return answer;
    } catch (error) {
      if (signal?.aborted === true || !isAway(error)) throw error;
      const wait = Math.min(longest, first * 2 ** attempt);
      onAway(error.message, wait / 1000);
      await pause(wait, signal);
    }
  }
}

/** @throws the signal's reason when it is aborted. */
function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", end);
      resolve();
    }, ms);
    if (signal?.aborted === true) end();
    else signal?.addEventListener("abort", end, { once: true });
  });
}
