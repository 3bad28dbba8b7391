/** A signal is noticed this long after what it did to others, at most. */
const NOTICED_WITHIN_MS = 100;

/**
 * Whether this process was told to stop, so that a failure is none by itself. Ctrl-C ends the bundler and the runtime too, and
 * that may be noticed before the signal is: so it is known a moment later.
 */
export async function abortedSoon(stop: AbortSignal): Promise<boolean> {
  if (stop.aborted) return true;
  await new Promise<void>((resolve) => {
    const end = () => {
      clearTimeout(timer);
      stop.removeEventListener("abort", end);
      resolve();
    };
    const timer = setTimeout(end, NOTICED_WITHIN_MS);
    stop.addEventListener("abort", end);
  });
  return stop.aborted;
}
