/**
 * Keeps what was loaded last, as long as the isolate lives; for data sets and tokenizers, which are too large to load for
 * every group. A load that failed is tried again.
 */
export function remember<T>(): (key: string, load: () => Promise<T>) => Promise<T> {
  let kept: { key: string; value: Promise<T> } | undefined;
  return (key, load) => {
    if (kept?.key === key) return kept.value;
    const entry = { key, value: load() };
    kept = entry;
    entry.value.catch(() => {
      if (kept === entry) kept = undefined;
    });
    return entry.value;
  };
}
