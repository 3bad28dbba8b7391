/** Deliveries of a message, the first included. Every environment's wrangler.toml says `max_retries = 2` to fit. */
export const MAX_ATTEMPTS = 3;

const FIRST_DELAY_SECONDS = 5;
const LONGEST_DELAY_SECONDS = 60;

/**
 * How long the next delivery waits: 5 s, 10 s, 20 s, … and up to half of that more, so that what failed together is not tried
 * again together.
 * @param attempt the one that failed, from 1
 * @param random from 0 to 1
 */
export function retryDelaySeconds(attempt: number, random: number): number {
  return spread(Math.min(LONGEST_DELAY_SECONDS, FIRST_DELAY_SECONDS * 2 ** (attempt - 1)), random);
}

/** How long the next delivery waits for a run that can't go on with the lease yet: a minute, and up to half of that more. */
export function laterDelaySeconds(random: number): number {
  return spread(LONGEST_DELAY_SECONDS, random);
}

function spread(seconds: number, random: number): number {
  return Math.round(seconds * (1 + random / 2));
}
