const SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/**
 * Does what makes a library listen to signals, and takes its listeners away again: wrangler and Miniflare end the process at a
 * signal, in the middle of whatever else is done about it. Who started the process decides that here.
 */
export function withoutSignalListeners<T>(action: () => T): T {
  const before = SIGNALS.map((signal) => new Set(process.listeners(signal)));
  try {
    return action();
  } finally {
    for (const [index, signal] of SIGNALS.entries()) {
      for (const listener of process.listeners(signal)) {
        if (!before[index]?.has(listener)) process.removeListener(signal, listener);
      }
    }
  }
}
