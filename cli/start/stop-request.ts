const PARENT_CHECK_MS = 500;

/** Resolves when this process is told to stop: by a signal, or because who started it is gone without a word. */
export function stopRequest(): Promise<void> {
  return new Promise((resolve) => {
    // Listeners that stay: libraries end the process at a signal that nobody else listens to any more.
    for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => resolve());
    const parent = process.ppid;
    const timer = setInterval(() => {
      if (process.ppid === parent) return;
      clearInterval(timer);
      resolve();
    }, PARENT_CHECK_MS);
    timer.unref();
  });
}
