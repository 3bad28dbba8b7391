import { abortedSoon } from "../aborted-soon.ts";
import { cronMatcher } from "./cron-expression.ts";

export interface CronJob {
  /** Whose crons these are, for what is logged. */
  readonly worker: string;
  readonly crons: readonly string[];
  /** Runs the Worker's scheduled handler to its end. */
  readonly fire: (cron: string, scheduledTime: Date) => Promise<void>;
}

const MINUTE_MS = 60_000;

/**
 * Fires every cron at once, and then in each minute that it names. A call may outlast its minute: the next one doesn't wait
 * for it, as in production. What fails because `signal` is aborted is not told: Ctrl-C on the terminal ends the runtime too,
 * before this process has stopped the crons.
 * @returns how to stop.
 */
export function startCrons(
  jobs: readonly CronJob[],
  onError: (line: string) => void,
  signal?: AbortSignal,
): () => void {
  const entries = jobs.flatMap((job) => job.crons.map((cron) => ({ job, cron, matches: cronMatcher(cron) })));
  let stopped = false;
  const fire = ({ job, cron }: (typeof entries)[number], at: Date) =>
    void job.fire(cron, at).catch(async (error: unknown) => {
      if (stopped || (signal !== undefined && (await abortedSoon(signal)))) return;
      const why = error instanceof Error ? error.message : String(error);
      onError(`error: the cron "${cron}" of ${job.worker} failed: ${why}`);
    });

  const toNextMinute = () => MINUTE_MS - (Date.now() % MINUTE_MS);
  const tick = () => {
    // A timer may come a few milliseconds early.
    const minute = new Date(Math.round(Date.now() / MINUTE_MS) * MINUTE_MS);
    for (const entry of entries) if (entry.matches(minute)) fire(entry, minute);
    timer = setTimeout(tick, toNextMinute() < 1_000 ? MINUTE_MS : toNextMinute());
  };
  let timer = setTimeout(tick, toNextMinute());
  const now = new Date();
  for (const entry of entries) fire(entry, now);
  return () => {
    stopped = true;
    clearTimeout(timer);
  };
}
