const PARENT_CHECK_MS = 500;

/** Exit codes of what a signal ended before it was through, as shells name them. */
const EXIT_CODES = { SIGINT: 130, SIGTERM: 143, SIGHUP: 129 } as const;

/** The command was told to stop before it was through. */
export class Stopped extends Error {
  readonly exitCode: number;

  constructor(exitCode: number) {
    super("told to stop");
    this.exitCode = exitCode;
  }
}

/**
 * Aborted, with a {@link Stopped}, when this process is told to stop: by a signal, or because who started it is gone without a
 * word.
 */
export function stopRequest(): AbortSignal {
  const controller = new AbortController();
  // Listeners that stay: libraries end the process at a signal that nobody else listens to any more.
  for (const [signal, exitCode] of Object.entries(EXIT_CODES)) {
    process.on(signal, () => controller.abort(new Stopped(exitCode)));
  }
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    controller.abort(new Stopped(EXIT_CODES.SIGHUP));
  }, PARENT_CHECK_MS);
  timer.unref();
  return controller.signal;
}

/** Resolves when the signal is aborted. */
export function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener("abort", () => resolve(), { once: true });
  });
}
