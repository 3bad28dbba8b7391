/** When and how long to wait before a request is tried again. */

/** Longest wait between two attempts (the stock rule). */
export const LONGEST_BACKOFF_MS = 10_000;

/** A server that asks for more is given up: another endpoint is quicker. */
export const LONGEST_RETRY_AFTER_MS = 60_000;

/**
 * Random exponential backoff: anything up to 1 s, 2 s, 4 s, …
 * @param attempt the one that failed, from 1
 * @param random from 0 to 1
 */
export function backoffMs(attempt: number, random: number): number {
  return random * Math.min(LONGEST_BACKOFF_MS, 1_000 * 2 ** (attempt - 1));
}

/**
 * How long to wait when a server asked for a time: never less, and up to a quarter more, so that those it sent away together
 * don't come back together.
 * @param random from 0 to 1
 */
export function askedMs(asked: number, random: number): number {
  return asked * (1 + random / 4);
}

/**
 * Milliseconds that a Retry-After header asks for; null for none, or one that can't be read.
 * @param now Unix milliseconds, for headers that hold a date
 */
export function retryAfterMs(header: string | null, now: number): number | null {
  if (header === null) return null;
  if (/^\s*\d+(\.\d+)?\s*$/.test(header)) return Number(header) * 1_000;
  const date = Date.parse(header);
  return Number.isNaN(date) ? null : Math.max(0, date - now);
}

/** @throws the signal's reason when it aborts first. */
export function pause(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) return reject(signal.reason);
    const give = () => {
      clearTimeout(timer);
      reject(signal?.reason);
    };
    const timer = setTimeout(() => {
      signal?.removeEventListener("abort", give);
      resolve();
    }, ms);
    signal?.addEventListener("abort", give, { once: true });
  });
}
